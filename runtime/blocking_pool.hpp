// A few threads for calls that block (open, unlink, resolve): never run one on a loop thread.
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/semaphore.hpp"
#include "runtime/waiter.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <exception>
#include <optional>
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
    // Any executor, which outlives the call. Name a capturing lambda on the line before and move it
    // in (g++ 12).
    template <class Call>
    awaitable<std::invoke_result_t<Call&>> run(Call call) {
        using value_type = std::invoke_result_t<Call&>;
        const semaphore::permit room = co_await room_.acquire();
        ending<value_type> end;
        waiter self;
        // Not co_spawn: its cancellation reaches into a coroutine that runs on another thread.
        const auto link = [this, &call, &end, &self] {
            asio::post(threads_, [&call, &end, &self] {
                end.of(call);
                self.resume();
            });
        };
        const auto withdraw = [] { return false; };
        co_await park(self, link, withdraw);
        if (end.failure) std::rethrow_exception(end.failure);
        if constexpr (!std::is_void_v<value_type>) co_return std::move(*end.value);
    }

private:
    // How a call ended: with its value, or with the exception that it threw.
    template <class T>
    struct ending {
        std::conditional_t<std::is_void_v<T>, bool, std::optional<T>> value{};
        std::exception_ptr failure;

        template <class Call>
        void of(Call& call) noexcept {
            try {
                if constexpr (std::is_void_v<T>)
                    call();
                else
                    value.emplace(call());
            } catch (...) {  // tidy: kept, and thrown where the caller waits
                failure = std::current_exception();
            }
        }
    };

    semaphore room_;
    asio::thread_pool threads_;
};

}  // namespace cairn
