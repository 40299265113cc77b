#include "runtime/fail_stop.hpp"

#include "runtime/log.hpp"

#include <utility>

namespace cairn {

void fail_stop::trip(error_code reason, std::string where) {
    std::lock_guard lock(mutex_);
    if (tripped_.load(std::memory_order_relaxed)) return;
    description_ = std::move(where) + ": " + reason.message();
    tripped_.store(true, std::memory_order_release);
    log_error("store", "stopped, nobody is answered until it is reopened: {}", description_);
}

result<void> fail_stop::check() const noexcept {
    if (tripped()) return errc::stopped;
    return {};
}

std::string fail_stop::description() const {
    std::lock_guard lock(mutex_);
    return description_;
}

}  // namespace cairn
