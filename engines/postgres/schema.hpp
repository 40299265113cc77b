// The tables and functions of a PostgreSQL catalog, their format version, and what `meta` says.
//
// Everything lies in the schema `cairn` of one database. What a change must do in one transaction
// is a function there: a batch is then one round trip, and every cairn process that shares the
// database decides by the same text.
#pragma once

#include "engines/postgres/link.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/result.hpp"

#include <cstdint>
#include <string>

namespace cairn::postgres {

inline constexpr std::int64_t format_version = 2;

struct boot_record {
    std::uint64_t boot = 0;
    std::string incarnation;  // random at creation
};

// Makes the schema in a database without one, or brings an older one to this format, each step in
// a transaction of its own; several processes may do so at once. Then raises the boot, durably.
// errc::incompatible, with a line in the log, for a newer format or for a store that was made with
// another durability.
awaitable<result<boot_record>> open_schema(link& to, std::string durability);

}  // namespace cairn::postgres
