// One side of a comparison, and what one run of it gave.
#pragma once

#include "http/cairn/bench/terms.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cairn::bench {

using run_time = std::chrono::steady_clock::duration;

struct sample {
    double value = 0;  // in the row's unit
    double p50_us = 0;
    double p99_us = 0;
};

// Prepared when it is made, run several times, cleaned up when it goes. A run checks every reply
// and throws std::runtime_error when one is wrong: a figure of wrong answers is none.
class contender {
public:
    virtual ~contender() = default;
    virtual std::string what() const = 0;
    virtual sample run(run_time time) = 0;
    // Known once it has run.
    virtual terms runs_under() const = 0;
};

// How long each operation took, of any number of callers.
class latencies {
public:
    void add(std::chrono::steady_clock::duration time) {
        us_.push_back(std::chrono::duration<float, std::micro>(time).count());
    }
    void add_all(const latencies& other) {
        us_.insert(us_.end(), other.us_.begin(), other.us_.end());
    }
    std::size_t count() const noexcept { return us_.size(); }
    // Operations a second over `time`, with the quantiles.
    sample rate_over(std::chrono::steady_clock::duration time);

private:
    float quantile(double share);

    std::vector<float> us_;
};

// Random bytes that were never put before: each caller has a stream of its own.
class fresh_bytes {
public:
    fresh_bytes();
    void fill(std::byte* to, std::size_t size_bytes);

private:
    std::uint64_t next();

    std::uint64_t state_[2];
};

}  // namespace cairn::bench
