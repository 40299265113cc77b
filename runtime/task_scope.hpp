// Owns coroutines that run beside their maker: nothing in cairn is started and forgotten.
//
// All members are called, and all children run, on the scope's one-threaded executor. A child that
// throws stops its siblings, and join() rethrows the first such exception; operation_aborted is how
// a stopped child ends and no failure. Declare a scope last, so that it goes before what its
// children use. It is joined before it is destroyed (CHECKed).
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/waiter.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <cstddef>
#include <exception>
#include <list>

namespace cairn {

class task_scope {
public:
    explicit task_scope(executor home) : home_(std::move(home)) {}
    task_scope(const task_scope&) = delete;
    task_scope& operator=(const task_scope&) = delete;
    ~task_scope();

    // Starts the child at the executor's next turn. After request_stop() it starts cancelled.
    // std::bad_alloc: there is no child.
    void spawn(awaitable<void> child);

    // Asks every child to end. A child hears `terminal` unless it enabled more itself.
    void request_stop(asio::cancellation_type kind = asio::cancellation_type::terminal);

    // Returns when no child is left; rethrows the first failure. Not cancellable.
    awaitable<void> join();

    std::size_t size() const noexcept { return children_.size(); }

private:
    using child_list = std::list<asio::cancellation_signal>;

    void ended(child_list::iterator child, std::exception_ptr failure);

    const executor home_;
    child_list children_;
    wait_list joiners_;
    std::exception_ptr failure_;
    asio::cancellation_type stopping_ = asio::cancellation_type::none;
};

// True for the exception by which a cancelled coroutine unwinds.
bool is_cancellation(const std::exception_ptr& failure) noexcept;

}  // namespace cairn
