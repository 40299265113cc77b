// A bounded queue between coroutines, of any executors: push() waits for room, pop() for a value.
//
// After close() values that are in can still be popped; then pop() answers nothing. A channel that
// goes away has nobody waiting on it (CHECKed).
#pragma once

#include "runtime/check.hpp"
#include "runtime/result.hpp"
#include "runtime/waiter.hpp"

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace cairn {

template <class T>
class channel {
public:
    explicit channel(std::size_t capacity) : capacity_(capacity) { CAIRN_CHECK(capacity > 0); }
    ~channel() {
        CAIRN_CHECK(pushers_.empty());
        CAIRN_CHECK(poppers_.empty());
    }

    // errc::closed once closed, and the value is dropped. Cancelled while it waits for room:
    // withdrawn, throws.
    awaitable<result<void>> push(T value) {
        party self;
        self.value = std::move(value);
        const auto link = [this, &self] { link_pusher(self); };
        const auto withdraw = [this, &self] { return take_out(pushers_, self); };
        co_await park(self, link, withdraw);
        if (self.refused) co_return errc::closed;
        co_return result<void>();
    }

    // False, and nothing happened, when the channel is full or closed. Any thread.
    bool try_push(T value) {
        wait_list woken;
        {
            std::lock_guard lock(mutex_);
            if (closed_ || values_.size() == capacity_) return false;
            values_.push_back(std::move(value));
            feed_popper(woken);
        }
        resume_all(woken);
        return true;
    }

    // The oldest value; nothing when closed and empty. Cancelled while waiting: withdrawn, throws.
    awaitable<std::optional<T>> pop() {
        party self;
        const auto link = [this, &self] { link_popper(self); };
        const auto withdraw = [this, &self] { return take_out(poppers_, self); };
        co_await park(self, link, withdraw);
        co_return std::move(self.value);
    }

    bool closed() {
        std::lock_guard lock(mutex_);
        return closed_;
    }

    // Any thread, once or often.
    void close() {
        wait_list woken;
        {
            std::lock_guard lock(mutex_);
            closed_ = true;
            while (!pushers_.empty()) {
                static_cast<party&>(pushers_.front()).refused = true;
                take_first(pushers_, woken);
            }
            while (!poppers_.empty()) take_first(poppers_, woken);
        }
        resume_all(woken);
    }

private:
    struct party : waiter {
        std::optional<T> value;
        bool refused = false;
        bool done = false;  // taken out of its list: whoever did so resumes it
    };

    void link_pusher(party& self) {
        wait_list woken;
        {
            std::lock_guard lock(mutex_);
            self.refused = closed_;
            if (!closed_ && values_.size() == capacity_) return pushers_.push_back(self);
            self.done = true;
            if (!closed_) values_.push_back(std::move(*self.value));
            feed_popper(woken);
            woken.push_back(self);
        }
        resume_all(woken);
    }

    void link_popper(party& self) {
        wait_list woken;
        {
            std::lock_guard lock(mutex_);
            if (values_.empty() && !closed_) return poppers_.push_back(self);
            self.done = true;
            if (!values_.empty()) self.value = take_value(woken);
            woken.push_back(self);
        }
        resume_all(woken);
    }

    // A value that came goes straight to the first who waits for one.
    void feed_popper(wait_list& woken) {
        if (values_.empty() || poppers_.empty()) return;
        static_cast<party&>(poppers_.front()).value = take_value(woken);
        take_first(poppers_, woken);
    }

    // A value leaves, and the first pusher that waits for room gets in.
    T take_value(wait_list& woken) {
        T value = std::move(values_.front());
        values_.pop_front();
        if (!pushers_.empty()) {
            values_.push_back(std::move(*static_cast<party&>(pushers_.front()).value));
            take_first(pushers_, woken);
        }
        return value;
    }

    static void take_first(wait_list& from, wait_list& woken) {
        auto& first = static_cast<party&>(*from.pop_front());
        first.done = true;
        woken.push_back(first);
    }

    // Outside the lock: who goes on may destroy *this.
    static void resume_all(wait_list& woken) {
        while (waiter* next = woken.pop_front()) next->resume();
    }

    bool take_out(wait_list& list, party& self) {
        std::lock_guard lock(mutex_);
        if (self.done) return false;
        list.erase(self);
        return true;
    }

    const std::size_t capacity_;
    std::mutex mutex_;
    bool closed_ = false;
    std::deque<T> values_;
    wait_list pushers_;
    wait_list poppers_;
};

}  // namespace cairn
