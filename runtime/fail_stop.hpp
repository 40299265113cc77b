// One switch per store: after a failed sync nobody is answered (SAFETY.md R6).
//
// Everything that belongs to one store shares one switch: each queue trips it when a durable step
// ends unknown, and each call asks it before it answers, hits included. It never goes back: only
// reopening the store, which is a new boot and a new switch, does.
#pragma once

#include "runtime/result.hpp"

#include <atomic>
#include <mutex>
#include <string>

namespace cairn {

class fail_stop {
public:
    // Stops the store, once: the first reason stays and is logged as data at risk. Any thread.
    void trip(error_code reason, std::string where);

    // Any thread, one relaxed load.
    bool tripped() const noexcept { return tripped_.load(std::memory_order_acquire); }

    // errc::stopped once tripped, else success. For `if (auto ok = stop.check(); !ok) return`.
    result<void> check() const noexcept;

    // "where: reason", empty until tripped. Any thread.
    std::string description() const;

private:
    std::atomic<bool> tripped_{false};
    mutable std::mutex mutex_;
    std::string description_;
};

}  // namespace cairn
