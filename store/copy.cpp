#include "store/copy.hpp"

#include "runtime/deadline.hpp"
#include "runtime/semaphore.hpp"
#include "runtime/task_scope.hpp"
#include "store/list_merge.hpp"

#include <boost/asio/this_coro.hpp>
#include <exception>
#include <utility>
#include <vector>

namespace cairn {
namespace {

// Tells how many bytes pass, and remembers whether it was the source that failed.
class watched_source final : public source {
public:
    watched_source(source& from, copy_watcher& watcher) : from_(from), watcher_(watcher) {}

    std::optional<std::uint64_t> size() const override { return from_.size(); }
    awaitable<result<buffer>> next() override {
        auto window = co_await from_.next();
        if (window) {
            watcher_.moved(window->size());
        } else {
            failure_ = window.error();
        }
        co_return window;
    }
    const error_code& failure() const noexcept { return failure_; }

private:
    source& from_;
    copy_watcher& watcher_;
    error_code failure_;
};

// Other blobs may well fare better.
bool concerns_one_blob(const error_code& ec) noexcept {
    return ec == errc::quarantined || ec == errc::corrupt || ec == errc::digest_mismatch ||
           ec == errc::too_large;
}

// The next try would fail like this one.
bool is_final(const error_code& ec) noexcept {
    return ec == failure::full || ec == failure::stopped || ec == errc::refused ||
           ec == errc::unsupported;
}

// How one try to copy one blob went.
struct attempt {
    copy_side at = copy_side::from;  // who failed
    error_code why;                  // nothing: it is there
    bool may_help_again() const noexcept {
        return why && why != errc::absent && !concerns_one_blob(why) && !is_final(why);
    }
};

class copier {
public:
    copier(executor home, store& from, store& to, copy_watcher& watcher, copy_limits limits)
        : from_(from),
          to_(to),
          watcher_(watcher),
          limits_(limits),
          slots_(limits.in_flight),
          carriers_(std::move(home)) {}

    awaitable<result<copy_report>> run();

private:
    awaitable<void> hand_out();
    awaitable<void> gather();
    awaitable<void> carry(listed_blob blob, semaphore::permit slot);
    awaitable<attempt> try_to_carry(listed_blob blob);
    void settle(const listed_blob& blob, const attempt& last);
    void give_up(copy_side at, const error_code& why);

    store& from_;
    store& to_;
    copy_watcher& watcher_;
    const copy_limits limits_;
    semaphore slots_;
    copy_report report_;
    error_code broken_;  // why nothing more is begun
    task_scope carriers_;
};

awaitable<result<copy_report>> copier::run() {
    std::exception_ptr thrown;
    try {
        co_await hand_out();
        co_await gather();
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown) {
        co_await asio::this_coro::reset_cancellation_state();
        carriers_.request_stop();
    }
    co_await carriers_.join();
    if (thrown) std::rethrow_exception(thrown);
    if (broken_) co_return broken_;
    co_return report_;
}

// Begins what is missing, in id order.
awaitable<void> copier::hand_out() {
    list_merge lists(from_, to_, limits_.page_blobs);
    while (!broken_) {
        const auto blob = co_await lists.next();
        if (!blob) {
            give_up(lists.left_failed() ? copy_side::from : copy_side::to, blob.error());
            break;
        }
        if (!blob->left && !blob->right) break;
        if (!blob->left) continue;
        if (blob->right) {
            report_.present.add(*blob->left);
            watcher_.present(*blob->left);
            continue;
        }
        auto slot = co_await slots_.acquire();
        if (!broken_) carriers_.spawn(carry(*blob->left, std::move(slot)));
    }
}

// Waits for all that was begun, one slot after the other: who fails is heard of at once, and the
// rest is stopped from here. A carrier must not stop itself: Asio's co_spawn ends the process when
// a coroutine is cancelled by itself before its first wait.
awaitable<void> copier::gather() {
    std::vector<semaphore::permit> all;
    while (all.size() < limits_.in_flight) {
        if (broken_) carriers_.request_stop();
        auto slot = co_await slots_.acquire();
        all.push_back(std::move(slot));
    }
}

// Tries until it is there, or is known not to come.
awaitable<void> copier::carry(listed_blob blob, semaphore::permit slot) {
    auto wait = limits_.first_wait;
    for (std::size_t tries_left = limits_.tries;; wait *= 2) {
        const attempt last = co_await try_to_carry(blob);
        if (--tries_left == 0 || !last.may_help_again() || broken_) {
            settle(blob, last);
            break;
        }
        watcher_.troubled(last.at, last.why, true);
        co_await sleep_for(wait);
    }
    slot.release();
}

awaitable<attempt> copier::try_to_carry(listed_blob blob) {
    const byte_range whole;
    const auto opened = co_await from_.get(blob.id, whole);
    if (!opened) co_return attempt{copy_side::from, opened.error()};
    if (*opened == nullptr) co_return attempt{copy_side::from, errc::absent};
    watched_source body(**opened, watcher_);
    const auto stored = co_await to_.put(body, blob.id);
    if (stored) co_return attempt{};
    // What the destination makes of a source that fails is its own affair.
    if (body.failure()) co_return attempt{copy_side::from, body.failure()};
    co_return attempt{copy_side::to, stored.error()};
}

void copier::settle(const listed_blob& blob, const attempt& last) {
    if (!last.why) {
        report_.copied.add(blob);
        watcher_.copied(blob);
    } else if (last.why == errc::absent) {
        ++report_.vanished;
    } else if (concerns_one_blob(last.why)) {
        ++report_.left_behind;
        watcher_.left_behind(blob, last.why);
    } else {
        give_up(last.at, last.why);
    }
}

void copier::give_up(copy_side at, const error_code& why) {
    if (broken_) return;
    broken_ = why;
    watcher_.troubled(at, why, false);
}

}  // namespace

awaitable<result<copy_report>> copy(store& from,
                                    store& to,
                                    copy_watcher& watcher,
                                    copy_limits limits) {
    const executor home = co_await asio::this_coro::executor;
    copier work(home, from, to, watcher, limits);
    co_return co_await work.run();
}

}  // namespace cairn
