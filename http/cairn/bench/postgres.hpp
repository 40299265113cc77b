// cairn on PostgreSQL, and what a user of PostgreSQL would do instead, on one server.
//
// `folder` says which side it is: each has a database of its own in the cluster beside it.
#pragma once

#include "http/cairn/bench/puts.hpp"
#include "http/cairn/bench/reads.hpp"

#include <filesystem>
#include <memory>

namespace cairn::bench {

// cairn as a library; bytes over 64 KiB in chunks.
std::unique_ptr<contender> postgres_puts(std::filesystem::path folder, put_load load);
std::unique_ptr<contender> postgres_reads(std::filesystem::path folder, read_load load);

// pgbench with a client a caller and prepared statements: INSERT … ON CONFLICT DO NOTHING of a
// random id and value, each its own transaction; and SELECT of a value by its id.
std::unique_ptr<contender> pgbench_puts(std::filesystem::path folder, put_load load);
std::unique_ptr<contender> pgbench_reads(std::filesystem::path folder, read_load load);

// Large objects as most programs write them: one connection, 512 KiB a call, each waited for.
std::unique_ptr<contender> large_object_puts(std::filesystem::path folder, put_load load);
std::unique_ptr<contender> large_object_reads(std::filesystem::path folder, read_load load);

}  // namespace cairn::bench
