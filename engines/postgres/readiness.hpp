// Waits until a descriptor that belongs to somebody else can be read or written.
//
// libpq opens, changes and closes its socket as it likes; this never closes it. Let go of it
// (release()) before a call that may close it: the number may be another file's the moment after.
// One thread.
#pragma once

#include "runtime/awaitable.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

namespace cairn::postgres {

class readiness {
public:
    explicit readiness(executor home) : descriptor_(home) {}
    ~readiness() { release(); }
    readiness(const readiness&) = delete;
    readiness& operator=(const readiness&) = delete;

    // Throws boost::system::system_error for a descriptor that cannot be waited for.
    void watch(int descriptor);
    // Ends all waits.
    void release() noexcept;

    // True when it is ready, or broken, which is as good a reason to try; false when it was
    // released meanwhile. Cancelled: throws.
    awaitable<bool> readable();
    awaitable<bool> writable();

private:
    awaitable<bool> wait(asio::posix::stream_descriptor::wait_type kind);

    asio::posix::basic_stream_descriptor<executor> descriptor_;
};

}  // namespace cairn::postgres
