// A few threads for calls that block (open, unlink, resolve): never run one on a loop thread.
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/semaphore.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace cairn {

class blocking_pool {
public:
    // Calls beyond `queue_limit` wait for room without holding a thread.
    explicit blocking_pool(std::size_t threads, std::size_t queue_limit = 1024)
        : room_(queue_limit), threads_(threads) {}
    ~blocking_pool() { threads_.join(); }

    // Runs call() on a pool thread and resumes the caller on its own executor with the value, or
    // with the exception that it threw. Cancelled while waiting for room: throws, call() did not
    // run. Afterwards it completes.
    // Any executor. Name a capturing lambda on the line before and move it in (g++ 12).
    template <class Call>
    awaitable<std::invoke_result_t<Call&>> run(Call call) {
        const semaphore::permit room = co_await room_.acquire();
        auto executor_of_pool = threads_.get_executor();
        co_return co_await asio::co_spawn(executor_of_pool, invoke(std::move(call)),
                                          asio::use_awaitable);
    }

private:
    template <class Call>
    static awaitable<std::invoke_result_t<Call&>> invoke(Call call) {
        co_return call();
    }

    semaphore room_;
    asio::thread_pool threads_;
};

}  // namespace cairn
