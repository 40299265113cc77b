// A suspended coroutine that another thread may wake: what the queues of this folder are made of.
//
// The state of a waiter: made -> linked (park() put it into its owner's wait_list) -> taken out, by
// whoever wakes it or by its own cancellation -> resumed, exactly once. The list is guarded by its
// owner's mutex; whoever takes a waiter out of the list, under that mutex, is the one that resumes
// it.
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/error.hpp"
#include "runtime/handover.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <utility>

namespace cairn {

class waiter {
public:
    waiter() = default;
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;

    // Posts the coroutine's continuation to its own executor; any thread. An error is thrown at the
    // await. The waiter may be gone when this returns: it lives in the frame that now goes on.
    // Without the memory to post it the process ends: who waits would wait for ever.
    void resume(error_code ec = {}) noexcept;

private:
    friend class wait_list;
    template <class Link, class Withdraw>
    friend awaitable<void> park(waiter& self, Link link, Withdraw withdraw);

    executor home_;
    asio::any_completion_handler<void(error_code)> handler_;
    handover home_coming_;
    waiter* previous_ = nullptr;
    waiter* next_ = nullptr;
};

// Waiters in the order in which they came. Guarded by its owner's mutex; owns nothing.
class wait_list {
public:
    bool empty() const noexcept { return first_ == nullptr; }
    std::size_t size() const noexcept { return size_; }
    waiter& front() noexcept { return *first_; }

    void push_back(waiter& entry) noexcept;
    void erase(waiter& entry) noexcept;  // entry is in this list
    waiter* pop_front() noexcept;        // nullptr when empty

private:
    waiter* first_ = nullptr;
    waiter* last_ = nullptr;
    std::size_t size_ = 0;
};

// Suspends the calling coroutine until somebody resumes `self`, which lives in its frame.
//
// link() runs once the coroutine can be resumed; it puts `self` into a list (or resumes it at
// once). Cancellation calls withdraw() on the coroutine's executor: true means that it took `self`
// out of the list, and the wait ends with operation_aborted; false, that somebody else did and will
// resume.
template <class Link, class Withdraw>
awaitable<void> park(waiter& self, Link link, Withdraw withdraw) {
    auto initiate = [&self, &link, &withdraw](auto handler) {
        self.home_ = asio::get_associated_executor(handler);
        // Not by assignment, which in Boost 1.81 wraps a handler in itself for ever.
        asio::any_completion_handler<void(error_code)>(std::move(handler)).swap(self.handler_);
        auto slot = asio::get_associated_cancellation_slot(self.handler_);
        if (slot.is_connected()) {
            slot.assign([&self, &withdraw](asio::cancellation_type) {
                if (withdraw()) self.resume(asio::error::operation_aborted);
            });
        }
        link();  // last: from here on another thread may resume the frame that holds all this
    };
    co_await asio::async_initiate<const asio::use_awaitable_t<executor>, void(error_code)>(
        initiate, asio::use_awaitable);
    self.home_coming_.wait();  // not after an error: that comes from this very executor
}

}  // namespace cairn
