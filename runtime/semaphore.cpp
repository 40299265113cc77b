#include "runtime/semaphore.hpp"

#include "runtime/check.hpp"

namespace cairn {

semaphore::permit& semaphore::permit::operator=(permit&& other) noexcept {
    if (this == &other) return *this;
    release();
    owner_ = std::exchange(other.owner_, nullptr);
    units_ = other.units_;
    return *this;
}

void semaphore::permit::release() noexcept {
    if (owner_ == nullptr) return;
    std::exchange(owner_, nullptr)->give_back(units_);
}

semaphore::~semaphore() {
    CAIRN_CHECK(waiting_.empty());
    CAIRN_CHECK(available_ == total_);
}

awaitable<semaphore::permit> semaphore::acquire(std::uint64_t units) {
    CAIRN_CHECK(units <= total_);
    if (auto taken = try_acquire(units)) co_return std::move(*taken);
    request self;
    self.units = units;
    const auto link = [this, &self] {
        std::unique_lock lock(mutex_);
        if (take_now(self.units)) {
            lock.unlock();
            self.resume();
        } else {
            waiting_.push_back(self);
        }
    };
    const auto withdraw = [this, &self] {
        std::lock_guard lock(mutex_);
        if (self.units == 0) return false;  // granted: give_back() took it out
        waiting_.erase(self);
        return true;
    };
    co_await park(self, link, withdraw);
    co_return permit(*this, units);
}

std::optional<semaphore::permit> semaphore::try_acquire(std::uint64_t units) {
    std::lock_guard lock(mutex_);
    if (!take_now(units)) return std::nullopt;
    return permit(*this, units);
}

std::uint64_t semaphore::available() const {
    std::lock_guard lock(mutex_);
    return available_;
}

bool semaphore::take_now(std::uint64_t units) {
    if (!waiting_.empty() || available_ < units) return false;
    available_ -= units;
    return true;
}

void semaphore::give_back(std::uint64_t units) noexcept {
    wait_list granted;
    {
        std::lock_guard lock(mutex_);
        available_ += units;
        while (!waiting_.empty()) {
            auto& next = static_cast<request&>(waiting_.front());
            if (next.units > available_) break;
            available_ -= next.units;
            next.units = 0;  // granted, so a cancellation that comes now is too late
            granted.push_back(*waiting_.pop_front());
        }
    }
    // Who goes on may destroy *this.
    while (waiter* next = granted.pop_front()) next->resume();
}

}  // namespace cairn
