// Files through io_uring, one ring on each loop thread of the runtime and one on the engines'.
//
// An operation that is awaited on a loop thread runs on that thread's ring. Awaited elsewhere (an
// embedder's executor, the pool, a thread of its own) it is posted to the ring of the engines'
// thread, and its caller resumes on its own executor.
#pragma once

#include "io/posix_file_system.hpp"
#include "io/ring.hpp"

namespace cairn {

class ring_file_system final : public posix_file_system {
public:
    // Makes a ring on each loop thread. Throws system_error when the kernel refuses.
    explicit ring_file_system(runtime& on);

    std::string name() const override { return "io_uring"; }
    awaitable<operation> perform(operation work) override;

private:
    ring& for_others_;
};

}  // namespace cairn
