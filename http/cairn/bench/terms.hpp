// What a side's figures hold under: two may be compared only when these are the same.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace cairn::bench {

enum class work {
    fresh_puts,  // of bytes that were never there
    replays,     // of bytes that are there
    reads,
    yardstick,  // no store's work: the speed of what stores have to do
};

// As a side found them, not as it was told: the durability that its answers carry, the delay that
// its database file has, the bytes that came.
struct terms {
    work does = work::reads;
    std::string durability = {};              // of what a put's answer promises
    std::chrono::milliseconds sync_delay{0};  // on top of each sync
    std::size_t head_bytes = 0;               // of an answer over HTTP, where heads are compared
    std::string checks = "none";  // what is done to notice bad bytes: said, never compared
};

// Why there is no ratio of two sides; empty when there is one.
std::string unequal(const terms& ours, const terms& rival);

}  // namespace cairn::bench
