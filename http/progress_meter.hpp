// Judges whether a body comes fast enough: by progress, not by total time.
//
// Time in which nobody waited for the peer does not count, so a slow disk of ours is not held
// against it, and bytes do, however they are spread over a period.
#pragma once

#include "runtime/deadline.hpp"

#include <chrono>
#include <cstdint>

namespace cairn {

class progress_meter {
public:
    progress_meter(std::chrono::milliseconds period, std::uint64_t bytes_per_second)
        : period_(period),
          bytes_min_(bytes_per_second * static_cast<std::uint64_t>(period.count()) / 1000) {}

    // When the current period ends if one waits from `now` on.
    deadline due(deadline now) const noexcept { return now + (period_ - waited_); }

    // Notes what one wait brought; false when a period ended with too little.
    bool note(std::uint64_t bytes, std::chrono::steady_clock::duration waited) noexcept {
        bytes_ += bytes;
        waited_ += waited;
        if (waited_ < period_) return true;
        const bool enough = bytes_ >= bytes_min_;
        bytes_ = 0;
        waited_ = {};
        return enough;
    }

private:
    std::chrono::steady_clock::duration period_;
    std::uint64_t bytes_min_;
    std::uint64_t bytes_ = 0;
    std::chrono::steady_clock::duration waited_{};
};

}  // namespace cairn
