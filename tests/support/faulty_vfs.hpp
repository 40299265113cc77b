// SQLite's own seam to the disk, with calls that fail when a test says so.
//
// While one lives it is SQLite's default VFS, so databases opened meanwhile go through it; they are
// closed, or at least healed, before it goes. Any thread.
#pragma once

#include "io/fault_plan.hpp"

#include <atomic>
#include <cstddef>
#include <optional>

namespace cairn::test {

class faulty_vfs {
public:
    enum class call { write, sync };
    enum class error { io, no_space };

    // With a plan, which outlives it, syncs fail as that says, and do nothing where they succeed.
    explicit faulty_vfs(fault_plan* syncs = nullptr);
    ~faulty_vfs();
    faulty_vfs(const faulty_vfs&) = delete;
    faulty_vfs& operator=(const faulty_vfs&) = delete;

    // From now on every call of that kind fails, until heal().
    void fail(call kind, error how);
    void heal();
    std::size_t count(call kind) const;
};

}  // namespace cairn::test
