// Deadlines: one time point per request, set where it enters and compared everywhere below.
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/result.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include <chrono>
#include <utility>

namespace cairn {

using deadline = std::chrono::steady_clock::time_point;

// Waits on a timer of the calling coroutine's executor. Cancelled: throws.
awaitable<void> sleep_until(deadline at);
awaitable<void> sleep_for(std::chrono::steady_clock::duration time);

// What `work` answers, or errc::timed_out when the deadline comes first: then work is cancelled
// (terminal) and this returns once it has ended; what that leaves behind is written at work.
// For waits on cancellable things; the request path of http/ has one timer a connection instead.
template <class T>
awaitable<result<T>> before(deadline at, awaitable<result<T>> work) {
    using namespace asio::experimental::awaitable_operators;
    auto first = co_await (std::move(work) || sleep_until(at));
    if (first.index() == 1) co_return error_code(errc::timed_out);
    co_return std::get<0>(std::move(first));
}

}  // namespace cairn
