// Opens a store: what an embedder and the program call first.
#pragma once

#include "engines/segments/record_checks.hpp"
#include "io/open_file_system.hpp"
#include "runtime/runtime.hpp"
#include "store/compactor.hpp"
#include "store/store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cairn {

// Where a PostgreSQL store keeps what is too large for a row.
enum class bulk_kind {
    chunks,         // rows of 256 KiB
    large_objects,  // PostgreSQL's own
};

struct store_options {
    std::filesystem::path data;  // the folder; made when it is not there
    std::string catalog;         // or a postgresql:// URL, instead of a folder
    bulk_kind bulk = bulk_kind::chunks;
    // durability::full, or durability::replicated on PostgreSQL; kept with the store.
    durability promise = durability::full;
    // Then also on tmpfs, NFS, FUSE, a server without fsync: with durability::none.
    bool allow_weak_storage = false;
    std::uint64_t max_blob_bytes = std::uint64_t{1} << 40;
    io_choice io = io_choice::automatic;
    std::size_t cache_bytes = 64 << 20;  // memory for rows and small values
    // For blobs up to this size the value lies in the catalog row: 4 KiB, or 64 KiB on PostgreSQL.
    // Changing it keeps old blobs readable.
    std::optional<std::size_t> inline_bytes_max;
    // verifying::always also checks bytes that were found good before: no sendfile. In a folder.
    verifying verify = verifying::first;
    // How often a backup of the catalog is made by itself, in a folder; zero: only when asked.
    std::chrono::milliseconds backup_every{0};
    std::uint64_t segment_bytes = 256 << 20;  // of files for blobs up to 4 MiB, in a folder
    compaction_options compaction = {};
    // Puts something between the store and its files: fault tests, delays in benches.
    std::function<std::unique_ptr<file_system>(std::unique_ptr<file_system>)> wrap_files;
};

// SQLite and segments in `options.data`, or PostgreSQL at `options.catalog`, which any number of
// processes may open. When it returns, what an earlier process left in flight is settled (on
// PostgreSQL: will be, by whoever comes first) and everything visible is durable. Errors: those of
// folder::open(), sqlite_catalog::open() and postgres::database::open(), logged with what a person
// can do; errc::unsupported for a combination that there is not, errc::malformed for a URL that
// does not parse. `threads` outlives the store.
awaitable<result<std::unique_ptr<store>>> open_store(runtime& threads, store_options options);

// A store that forgets everything when it is closed, with durability::none: for tests and trying
// out.
awaitable<std::unique_ptr<store>> open_memory_store(runtime& threads);

}  // namespace cairn
