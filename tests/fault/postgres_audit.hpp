// Whether every byte of a PostgreSQL store is accounted for (SAFETY.md R2): each byte string
// belongs to a blob or is to be reclaimed, each blob in bulk has all its bytes, and the totals are
// those of the rows.
#pragma once

#include "tests/support/postgres_server.hpp"

#include <string>
#include <vector>

namespace cairn::test {

// Of a store that nobody writes to at the moment. Returns what is not so.
std::vector<std::string> unaccounted(const postgres_server& server, const std::string& database);

}  // namespace cairn::test
