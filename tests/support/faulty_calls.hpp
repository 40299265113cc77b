// The system calls that SQLite makes, failing when a plan says so; its syncs too.
//
// While one lives, every connection of the process goes through it. It is made and destroyed while
// no connection is open. Any thread.
#pragma once

#include "io/fault_plan.hpp"
#include "tests/support/faulty_vfs.hpp"

namespace cairn::test {

class faulty_calls {
public:
    // `plan` outlives it.
    explicit faulty_calls(fault_plan& plan);
    ~faulty_calls();
    faulty_calls(const faulty_calls&) = delete;
    faulty_calls& operator=(const faulty_calls&) = delete;

private:
    const faulty_vfs syncs_;  // SQLite makes them without a name of its own
};

}  // namespace cairn::test
