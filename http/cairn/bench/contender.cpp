#include "http/cairn/bench/contender.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace cairn::bench {

sample latencies::rate_over(std::chrono::steady_clock::duration time) {
    sample result;
    result.value = static_cast<double>(count()) / std::chrono::duration<double>(time).count();
    result.p50_us = quantile(0.5);
    result.p99_us = quantile(0.99);
    return result;
}

float latencies::quantile(double share) {
    if (us_.empty()) return 0;
    const auto index = static_cast<std::ptrdiff_t>(share * static_cast<double>(us_.size() - 1));
    std::nth_element(us_.begin(), us_.begin() + index, us_.end());
    return us_[static_cast<std::size_t>(index)];
}

fresh_bytes::fresh_bytes() {
    std::random_device seed;
    for (std::uint64_t& word : state_) word = std::uint64_t{seed()} << 32 | seed();
}

void fresh_bytes::fill(std::byte* to, std::size_t size_bytes) {
    for (std::size_t at = 0; at < size_bytes; at += sizeof(std::uint64_t)) {
        const std::uint64_t word = next();
        std::memcpy(to + at, &word, std::min(sizeof word, size_bytes - at));
    }
}

// xoroshiro128+: a kilobyte costs less than a tenth of hashing it.
std::uint64_t fresh_bytes::next() {
    const std::uint64_t a = state_[0];
    std::uint64_t b = state_[1];
    const std::uint64_t sum = a + b;
    b ^= a;
    state_[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
    state_[1] = b << 37 | b >> 27;
    return sum;
}

}  // namespace cairn::bench
