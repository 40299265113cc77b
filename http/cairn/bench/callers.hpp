// Callers that block, each on a thread of its own: how rivals and HTTP clients are driven.
#pragma once

#include "http/cairn/bench/contender.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cairn::bench {

// Runs `one(caller, times)` again and again on each of `callers` threads until the time is over, at
// least once.
// Rethrows what a caller threw.
template <class One>
sample drive(std::size_t callers, run_time time, One one) {
    using clock = std::chrono::steady_clock;
    std::mutex mutex;
    latencies all;
    std::exception_ptr failure;
    const auto began = clock::now();
    const auto end = began + time;
    const auto call = [&](std::size_t caller) {
        latencies own;
        try {
            do {
                one(caller, own);
            } while (clock::now() < end);
        } catch (...) {
            std::lock_guard lock(mutex);
            failure = std::current_exception();
        }
        std::lock_guard lock(mutex);
        all.add_all(own);
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < callers; ++i) threads.emplace_back(call, i);
    for (std::thread& each : threads) each.join();
    if (failure) std::rethrow_exception(failure);
    return all.rate_over(clock::now() - began);
}

}  // namespace cairn::bench
