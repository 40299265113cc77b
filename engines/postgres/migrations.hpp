// How the schema of each format is made from the one before it: statements that run in one
// transaction. The first format is made from nothing.
#pragma once

#include <span>

namespace cairn::postgres {

// The statements that lead from format `from` to `from + 1`.
std::span<const char* const> migration(int from);

}  // namespace cairn::postgres
