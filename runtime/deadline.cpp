#include "runtime/deadline.hpp"

#include "runtime/task_scope.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>

namespace cairn {

awaitable<void> sleep_until(deadline at) {
    const executor home = co_await asio::this_coro::executor;
    asio::steady_timer timer(home, at);
    co_await timer.async_wait(asio::use_awaitable);
}

awaitable<void> sleep_for(std::chrono::steady_clock::duration time) {
    return sleep_until(std::chrono::steady_clock::now() + time);
}

// Not `work || sleep_until(at)`: that waits for a success, so it would sit out the deadline when
// work throws, and drop the exception.
awaitable<bool> ended_before(deadline at, awaitable<void> work) {
    const executor home = co_await asio::this_coro::executor;
    asio::steady_timer timer(home, at);
    auto both = asio::experimental::make_parallel_group(
        asio::co_spawn(home, std::move(work), asio::deferred), timer.async_wait(asio::deferred));
    const auto ended =
        co_await both.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    const auto& failure = std::get<1>(ended);
    const bool in_time = std::get<2>(ended) == asio::error::operation_aborted;
    if (failure && (in_time || !is_cancellation(failure))) std::rethrow_exception(failure);
    co_return in_time;
}

}  // namespace cairn
