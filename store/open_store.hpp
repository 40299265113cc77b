// Opens a store: what an embedder and the program call first.
#pragma once

#include "io/open_file_system.hpp"
#include "runtime/runtime.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

namespace cairn {

struct store_options {
    std::filesystem::path data;       // the folder; made when it is not there
    bool allow_weak_storage = false;  // then on tmpfs, NFS, FUSE: durability::none
    std::uint64_t max_blob_bytes = std::uint64_t{1} << 40;
    io_choice io = io_choice::automatic;
    std::size_t cache_bytes = 64 << 20;  // memory for rows and small values
    // For blobs up to this size the value lies in the catalog row. Changing it keeps old blobs
    // readable.
    std::size_t inline_bytes_max = 4096;
    // Puts something between the store and its files: fault tests, delays in benches.
    std::function<std::unique_ptr<file_system>(std::unique_ptr<file_system>)> wrap_files;
};

// SQLite and segments in `options.data`. When it returns, what an earlier process left in flight is
// settled and everything visible is durable. Errors: those of folder::open() and
// sqlite_catalog::open(), logged with what a person can do. `threads` outlives the store.
awaitable<result<std::unique_ptr<store>>> open_store(runtime& threads, store_options options);

// A store that forgets everything when it is closed, with durability::none: for tests and trying
// out.
awaitable<std::unique_ptr<store>> open_memory_store(runtime& threads);

}  // namespace cairn
