#include "runtime/deadline.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cairn {

awaitable<void> sleep_until(deadline at) {
    const executor home = co_await asio::this_coro::executor;
    asio::steady_timer timer(home, at);
    co_await timer.async_wait(asio::use_awaitable);
}

awaitable<void> sleep_for(std::chrono::steady_clock::duration time) {
    return sleep_until(std::chrono::steady_clock::now() + time);
}

}  // namespace cairn
