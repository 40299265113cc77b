// Deadlines: one time point per request, set where it enters and compared everywhere below.
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/result.hpp"

#include <chrono>
#include <optional>
#include <utility>

namespace cairn {

using deadline = std::chrono::steady_clock::time_point;

// Waits on a timer of the calling coroutine's executor. Cancelled: throws.
awaitable<void> sleep_until(deadline at);
awaitable<void> sleep_for(std::chrono::steady_clock::duration time);

// Runs `work` until it ends, or cancels it (terminal) at the deadline and waits for its end; true
// when it ended by itself. Throws what work threw, but for the cancellation at the deadline; throws
// when cancelled.
awaitable<bool> ended_before(deadline at, awaitable<void> work);

// What `work` answers, or errc::timed_out when the deadline comes first: then work is cancelled
// (terminal) and this returns once it has ended; what that leaves behind is written at work. What
// it answers after that is dropped, what it throws is thrown. For waits on cancellable things; the
// request path of http/ has one timer a connection instead.
template <class T>
awaitable<result<T>> before(deadline at, awaitable<result<T>> work) {
    std::optional<result<T>> answer;
    const bool in_time = co_await ended_before(at, keep(std::move(work), answer));
    if (!in_time) co_return error_code(errc::timed_out);
    co_return std::move(*answer);
}

}  // namespace cairn
