// Fresh puts: cairn embedded and over HTTP, and what a user would do instead.
#pragma once

#include "http/cairn/bench/embedded.hpp"
#include "http/cairn/bench/load.hpp"

#include <filesystem>
#include <memory>

namespace cairn::bench {

// The callers are coroutines of one thread.
std::unique_ptr<contender> puts_into(embedded_store in, put_load load);

// cairn as a library, in `folder`. `inline_bytes_max` above the size keeps the bytes in SQLite.
std::unique_ptr<contender> embedded_puts(std::filesystem::path folder,
                                         put_load load,
                                         std::size_t inline_bytes_max = 4096);

// `cairn serve` in a process of its own, one keep-alive connection a caller.
std::unique_ptr<contender> http_puts(std::filesystem::path folder, put_load load);

// The same with the server on one core: in a folder, or with everything in memory. Runs of the
// latter end after two seconds.
std::unique_ptr<contender> one_core_puts(std::filesystem::path folder, put_load load);
std::unique_ptr<contender> one_core_memory_puts(put_load load);

// SQLite as most programs use it: a thread and a connection a caller, autocommit, the same
// durability (WAL, synchronous=FULL) and the same table shape as cairn's.
std::unique_ptr<contender> sqlite_puts(std::filesystem::path folder, put_load load);

enum class publish { rename, link };  // write and rename, or O_TMPFILE and linkat

// A file a blob: written, synced, published, its directory synced.
std::unique_ptr<contender> file_puts(std::filesystem::path folder, put_load load, publish how);

}  // namespace cairn::bench
