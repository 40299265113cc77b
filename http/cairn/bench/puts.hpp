// Fresh puts: cairn embedded and over HTTP, and what a user would do instead.
#pragma once

#include "http/cairn/bench/contender.hpp"

#include <filesystem>
#include <memory>

namespace cairn::bench {

struct put_load {
    std::size_t size_bytes = 1024;
    std::size_t callers = 1;
};

// cairn as a library, in `folder`: the callers are coroutines of one thread. `inline_bytes_max`
// above the size keeps the bytes in SQLite.
std::unique_ptr<contender> embedded_puts(std::filesystem::path folder,
                                         put_load load,
                                         std::size_t inline_bytes_max = 4096);

// `cairn serve` in a process of its own, one keep-alive connection a caller.
std::unique_ptr<contender> http_puts(std::filesystem::path folder, put_load load);

// SQLite as most programs use it: a thread and a connection a caller, autocommit, the same
// durability (WAL, synchronous=FULL) and the same table shape as cairn's.
std::unique_ptr<contender> sqlite_puts(std::filesystem::path folder, put_load load);

enum class publish { rename, link };  // write and rename, or O_TMPFILE and linkat

// A file a blob: written, synced, published, its directory synced.
std::unique_ptr<contender> file_puts(std::filesystem::path folder, put_load load, publish how);

}  // namespace cairn::bench
