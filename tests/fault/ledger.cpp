#include "tests/fault/ledger.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn::test {

std::string body_of(std::uint64_t seed, std::uint32_t size_bytes) {
    std::string body(size_bytes, '\0');
    std::uint64_t state = seed;
    for (std::size_t at = 0; at < body.size(); at += sizeof state) {
        // splitmix64: incompressible, and every seed gives other bytes from the first on.
        std::uint64_t word = state += 0x9e3779b97f4a7c15;
        word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
        word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
        word ^= word >> 31;
        std::memcpy(body.data() + at, &word, std::min(sizeof word, body.size() - at));
    }
    return body;
}

std::size_t ledger::add(const promised_blob& blob) {
    const std::scoped_lock lock(mutex_);
    blobs_.push_back(blob);
    return blobs_.size() - 1;
}

void ledger::set(std::size_t index, promise state) {
    const std::scoped_lock lock(mutex_);
    blobs_[index].state = state;
    ++blobs_[index].version;
}

promised_blob ledger::at(std::size_t index) const {
    const std::scoped_lock lock(mutex_);
    return blobs_[index];
}

std::size_t ledger::size() const {
    const std::scoped_lock lock(mutex_);
    return blobs_.size();
}

std::vector<promised_blob> ledger::copy() const {
    const std::scoped_lock lock(mutex_);
    return blobs_;
}

std::vector<promised_blob> standing(const std::vector<promised_blob>& before,
                                    std::vector<promised_blob> after) {
    for (std::size_t i = 0; i < after.size(); ++i)
        if (i >= before.size() || before[i].version != after[i].version)
            after[i].state = promise::none;
    return after;
}

}  // namespace cairn::test
