// The last step of a wait that another thread ends: the coroutine is posted home, and goes on only
// when that thread has left the coroutine's context.
//
// post() touches a context after it has queued the handler there (it wakes a thread), and a context
// may be destroyed as soon as its last coroutine has ended. So the one waits for the other: with
// it, a call of cairn may be awaited on a context that lives no longer than the call.
#pragma once

#include "runtime/awaitable.hpp"

#include <atomic>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

namespace cairn {

// Lives in the frame that waits.
class handover {
public:
    handover() = default;
    handover(const handover&) = delete;
    handover& operator=(const handover&) = delete;

    // Any thread, once. *this may be gone when it returns.
    template <class Handler>
    void post(executor home, Handler handler) {
        // The executor is let go here as well: it may count as work of the context.
        asio::post(std::exchange(home, executor()), std::move(handler));
        left_.store(true, std::memory_order_release);
    }

    // First thing in the coroutine that was posted. Spins, and next to never.
    void wait() const noexcept {
        while (!left_.load(std::memory_order_acquire)) std::this_thread::yield();
    }

private:
    std::atomic<bool> left_{false};
};

}  // namespace cairn
