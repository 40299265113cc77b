// Delays between attempts: each up to twice as long as the one before, and jittered, so that
// processes that lost the same server do not all come back at the same moment. One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace cairn::postgres {

class backoff {
public:
    using milliseconds = std::chrono::milliseconds;

    backoff(milliseconds min, milliseconds max) : min_(min), max_(max), next_(min) {}

    // Between half of the current delay and all of it; the current delay grows from min to max.
    milliseconds next() {
        const auto full = next_.count();
        next_ = std::min(next_ * 2, max_);
        return milliseconds(std::uniform_int_distribution(full / 2, full)(random_));
    }

    void reset() noexcept { next_ = min_; }

private:
    const milliseconds min_;
    const milliseconds max_;
    milliseconds next_;
    std::minstd_rand random_{std::random_device()()};
};

}  // namespace cairn::postgres
