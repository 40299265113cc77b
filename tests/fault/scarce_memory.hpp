// Memory of which one allocation, on any thread, fails: operator new of this program and SQLite's
// own.
//
// A program that links this file's source gets its operator new. Any thread.
#pragma once

#include <cstdint>

namespace cairn::test {

class scarce_memory {
public:
    // Hooks SQLite's allocations. Once, before SQLite is used.
    static void install();

    // From now on the n-th allocation fails, or that one and all after it, until relieve().
    static void fail(std::uint64_t nth, bool for_good);
    static void relieve();

    // Of allocations since fail().
    static bool failed_any();
};

}  // namespace cairn::test
