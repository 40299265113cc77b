// Wakes a coroutine that sleeps until there is something to do.
//
// A ring while nobody waits is kept for the next wait(); several are one. Safe from any thread; one
// coroutine waits at a time (CHECKed). Nobody waits when it is destroyed.
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/check.hpp"
#include "runtime/waiter.hpp"

#include <mutex>
#include <utility>

namespace cairn {

class doorbell {
public:
    doorbell() = default;
    doorbell(const doorbell&) = delete;
    doorbell& operator=(const doorbell&) = delete;
    ~doorbell() { CAIRN_CHECK(sleeper_.empty()); }

    void ring() {
        waiter* woken = nullptr;
        {
            std::lock_guard lock(mutex_);
            woken = sleeper_.pop_front();
            rung_ = woken == nullptr;
        }
        if (woken != nullptr) woken->resume();
    }

    // Until the next ring, or at once if there was one since the last wait. Cancelled: throws; the
    // ring that it would have heard is kept.
    awaitable<void> wait() {
        waiter self;
        const auto link = [this, &self] {
            if (!go_to_sleep(self)) self.resume();
        };
        const auto withdraw = [this, &self] { return get_up(self); };
        co_await park(self, link, withdraw);
    }

private:
    bool go_to_sleep(waiter& self) {
        std::lock_guard lock(mutex_);
        CAIRN_CHECK(sleeper_.empty());
        if (std::exchange(rung_, false)) return false;
        sleeper_.push_back(self);
        return true;
    }

    bool get_up(waiter& self) {
        std::lock_guard lock(mutex_);
        if (sleeper_.empty()) return false;
        sleeper_.erase(self);
        return true;
    }

    std::mutex mutex_;
    wait_list sleeper_;
    bool rung_ = false;
};

}  // namespace cairn
