// Reads of blobs that are there: cairn embedded, and what a user would do instead.
//
// Which one is read is drawn anew each time; its bytes are copied out to the caller.
#pragma once

#include "http/cairn/bench/embedded.hpp"
#include "http/cairn/bench/load.hpp"

#include <filesystem>
#include <memory>

namespace cairn::bench {

// The callers are coroutines, spread over a thread for each core.
std::unique_ptr<contender> reads_from(embedded_store in, read_load load);

// cairn as a library, in `folder`.
std::unique_ptr<contender> embedded_reads(std::filesystem::path folder,
                                          read_load load,
                                          std::size_t cache_bytes = 64 << 20);

// SQLite WITHOUT ROWID with pages of 4 KiB: a thread, a connection and a prepared statement a
// caller.
std::unique_ptr<contender> sqlite_reads(std::filesystem::path folder, read_load load);

// A file a blob: opened, read whole, closed.
std::unique_ptr<contender> file_reads(std::filesystem::path folder, read_load load);

}  // namespace cairn::bench
