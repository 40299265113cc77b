// One segment between its caller and its answer, shared by the two who deal with it: the ticket of
// the caller, on the caller's executor, and the connection, on its home thread.
//
//     started ──fetch()──> awaited ──┐
//        └───────────────────────────┴─answer()──> answered
//     leave(), from started and awaited, ──> left: the answer is dropped
#pragma once

#include "engines/postgres/segment.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/result.hpp"
#include "runtime/semaphore.hpp"
#include "runtime/waiter.hpp"

#include <atomic>
#include <utility>

namespace cairn::postgres {

class call {
public:
    explicit call(segment what) : what_(std::move(what)) {}

    const segment& what() const noexcept { return what_; }

    // --- The caller's side.

    // The answer, once. Cancelled while it waits: leaves, throws.
    awaitable<result<answers>> fetch();
    // Nobody will fetch the answer.
    void leave() noexcept;

    // --- The other side.

    // Nobody waits any more: need not be sent.
    bool is_left() const noexcept { return state_.load() == state::left; }
    // Once (CHECKed), also when the caller left.
    void answer(result<answers> with);
    bool is_answered() const noexcept { return state_.load() == state::answered; }

    // A place among the started; given back with the answer.
    semaphore::permit room;

private:
    enum class state { started, awaited, answered, left };
    bool move_on(state from, state to) noexcept;

    const segment what_;
    std::atomic<state> state_{state::started};
    waiter caller_;
    result<answers> answer_ = error_code(errc::unanswered);
};

}  // namespace cairn::postgres
