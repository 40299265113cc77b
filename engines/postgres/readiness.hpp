// Waits until a descriptor that belongs to somebody else can be read or written.
//
// It waits on a duplicate of its own. libpq closes its socket when it likes, and the moment after
// the number may be the file of another thread, whom taking the number out of epoll would cut off.
// One thread.
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/result.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

namespace cairn::postgres {

class readiness {
public:
    explicit readiness(executor home) : duplicate_(home) {}

    // Instead of the one before. Fails when descriptors run out.
    result<void> watch(int descriptor);
    // Ends all waits. The socket is closed when libpq closes it too.
    void release() noexcept;

    // True when it is ready, or broken, which is as good a reason to try; false when it was
    // released meanwhile. Cancelled: throws.
    awaitable<bool> readable();
    awaitable<bool> writable();

private:
    awaitable<bool> wait(asio::posix::stream_descriptor::wait_type kind);

    asio::posix::basic_stream_descriptor<executor> duplicate_;
};

}  // namespace cairn::postgres
