// Units (a count, or bytes) that coroutines take before they use what the units stand for.
//
// First come, first served: a large request is not starved by small ones behind it. Safe from any
// thread and executor. The semaphore outlives its permits.
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/waiter.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace cairn {

class semaphore {
public:
    // Units held; gives them back when it goes.
    class permit {
    public:
        permit() noexcept = default;
        permit(permit&& other) noexcept
            : owner_(std::exchange(other.owner_, nullptr)), units_(other.units_) {}
        permit& operator=(permit&& other) noexcept;
        ~permit() { release(); }

        void release() noexcept;
        explicit operator bool() const noexcept { return owner_ != nullptr; }
        std::uint64_t units() const noexcept { return owner_ != nullptr ? units_ : 0; }

    private:
        friend class semaphore;
        permit(semaphore& owner, std::uint64_t units) noexcept : owner_(&owner), units_(units) {}

        semaphore* owner_ = nullptr;
        std::uint64_t units_ = 0;
    };

    explicit semaphore(std::uint64_t units) noexcept : total_(units), available_(units) {}
    ~semaphore();  // CHECKs that every permit came back

    // Waits until `units` (at most total()) are free. Cancelled while waiting: withdrawn, throws.
    awaitable<permit> acquire(std::uint64_t units = 1);
    // Never waits, and never passes those who do.
    std::optional<permit> try_acquire(std::uint64_t units = 1);

    std::uint64_t total() const noexcept { return total_; }
    std::uint64_t available() const;

private:
    struct request : waiter {
        std::uint64_t units = 0;
    };

    void give_back(std::uint64_t units) noexcept;
    bool take_now(std::uint64_t units);  // under mutex_

    const std::uint64_t total_;
    mutable std::mutex mutex_;
    std::uint64_t available_;
    wait_list waiting_;
};

}  // namespace cairn
