// The tables of a SQLite catalog, their format version, and what `meta` says.
#pragma once

#include "engines/sqlite/database.hpp"
#include "runtime/result.hpp"

#include <cstdint>
#include <string>

namespace cairn::sqlite {

// Kept in the file as PRAGMA user_version; PRAGMA application_id says that it is ours at all.
inline constexpr int format_version = 1;

// Makes the tables in an empty file, or checks that it is a catalog of a format that this build
// reads: errc::incompatible otherwise.
result<void> prepare_schema(database& writer);

// Raises the boot by one, durably, and answers the new one.
result<std::uint64_t> raise_boot(database& writer);

// Random at creation; the folder remembers it, so that catalog and folder know each other.
result<std::string> incarnation(database& any);

}  // namespace cairn::sqlite
