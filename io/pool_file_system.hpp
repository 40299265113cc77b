// Files through blocking calls on the runtime's pool, for where io_uring is refused.
#pragma once

#include "io/posix_file_system.hpp"

namespace cairn {

class pool_file_system final : public posix_file_system {
public:
    explicit pool_file_system(runtime& on) : posix_file_system(on) {}

    std::string name() const override { return "thread pool"; }
    // Cancelled while it waits for a pool thread's queue: withdrawn, throws. Afterwards it
    // completes.
    awaitable<operation> perform(operation work) override;
};

}  // namespace cairn
