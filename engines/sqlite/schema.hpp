// The tables of a SQLite catalog, their format version, and what `meta` says.
#pragma once

#include "engines/sqlite/database.hpp"
#include "runtime/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cairn::sqlite {

// Kept in the file as PRAGMA user_version; PRAGMA application_id says that it is ours at all.
inline constexpr int format_version = 2;

// Makes the tables in an empty file, or checks that it is a catalog, and brings one of an earlier
// format to this one: errc::incompatible otherwise, errc::restored_copy for a marked copy.
result<void> prepare_schema(database& writer);

// A marked copy says of itself that it is one, and when it was taken: only a rebuild opens it.
result<void> mark_copy(database& copy, std::int64_t taken_at_us);
// When the copy was taken, in microseconds since 1970; nothing for a catalog that is no copy.
result<std::optional<std::int64_t>> copy_taken_at(database& any);
result<void> unmark_copy(database& copy);
// Makes a catalog the beginning of another one: with an incarnation of its own, a boot of `boot` at
// least, and no segment to replay, since what they hold is yet to be judged.
result<void> start_anew(database& writer, std::uint64_t boot);

// What SQLite finds wrong with the file, in its words; empty when it is sound. Reads all of it.
result<std::vector<std::string>> integrity_complaints(database& any);

// The boot of the last opening.
result<std::uint64_t> last_boot(database& any);

// Raises the boot by one, durably, and answers the new one. Leaves out the seqs that a crash may
// have taken.
result<std::uint64_t> raise_boot(database& writer);

// Random at creation; the folder remembers it, so that catalog and folder know each other.
result<std::string> incarnation(database& any);

}  // namespace cairn::sqlite
