#include "runtime/side_by_side.hpp"

#include "runtime/semaphore.hpp"
#include "runtime/task_scope.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <utility>

namespace cairn {
namespace {

using work_function = std::function<awaitable<void>(std::size_t)>;

awaitable<void> take_turns(std::size_t& next,
                           std::size_t count,
                           const work_function& work,
                           semaphore::permit running) {
    while (next < count) {
        const std::size_t index = next++;
        co_await work(index);
    }
    running.release();
}

}  // namespace

awaitable<void> side_by_side(std::size_t count, std::size_t at_once, const work_function& work) {
    const executor home = co_await asio::this_coro::executor;
    const std::size_t workers = std::min(count, at_once);
    std::size_t next = 0;
    semaphore running(workers);
    task_scope scope(home);
    for (std::size_t i = 0; i < workers; ++i) {
        scope.spawn(take_turns(next, count, work, std::move(*running.try_acquire())));
    }
    // Unlike join(), the semaphore hears of a cancellation.
    std::exception_ptr thrown;
    try {
        const auto all = co_await running.acquire(workers);
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown) {
        co_await asio::this_coro::reset_cancellation_state();
        scope.request_stop();
    }
    co_await scope.join();
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace cairn
