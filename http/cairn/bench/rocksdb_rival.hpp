// RocksDB as a rival. The program does not depend on it: the rival is a module of its own, built
// where RocksDB is and looked for beside the program.
#pragma once

#include "http/cairn/bench/contender.hpp"
#include "http/cairn/bench/load.hpp"

#include <filesystem>
#include <memory>

namespace cairn::bench {

// What the module has, by this name. The path and the load are read before it returns.
using rocksdb_puts_function = contender*(const char* folder,
                                         const put_load& load,
                                         std::chrono::milliseconds sync_delay);
inline constexpr const char* rocksdb_puts_name = "cairn_rocksdb_puts";

bool has_rocksdb();

// A thread a caller, synced writes with RocksDB's own group commit, no compression, blob files for
// values from 4 KiB. Throws std::runtime_error where there is none.
std::unique_ptr<contender> rocksdb_puts(std::filesystem::path folder, put_load load);

}  // namespace cairn::bench
