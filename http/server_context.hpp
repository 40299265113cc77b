// What all connections of one server share.
#pragma once

#include "http/access.hpp"
#include "http/settings.hpp"
#include "runtime/metrics.hpp"
#include "runtime/semaphore.hpp"
#include "store/store.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cairn {

// Counters by method and class of status, looked up once.
class http_metrics {
public:
    explicit http_metrics(cairn::metrics& registry);

    void count(http_method method, int status) noexcept {
        requests_[static_cast<std::size_t>(method)][static_cast<std::size_t>(status / 100)]->add();
    }

    histogram& duration;
    counter& received_bytes;
    counter& sent_bytes;
    counter& refused_connections;

private:
    std::array<std::array<counter*, 6>, 7> requests_;
};

// Any thread. Outlives every connection.
struct server_context {
    server_context(http_settings with, std::string_view address, cairn::metrics& counters)
        : settings(std::move(with)),
          rules(settings, address),
          body_budget(settings.body_bytes),
          batch_budget(settings.batch_bytes),
          registry(counters),
          metrics(counters) {}

    const http_settings settings;
    const access_rules rules;
    semaphore body_budget;
    semaphore batch_budget;  // taken without waiting, by nobody who could not do without
    cairn::metrics& registry;
    http_metrics metrics;
    // Null until the store is open: then only /healthz and /status answer.
    std::atomic<cairn::store*> store{nullptr};
    durability kept = durability::none;  // the store's, set before it
    std::atomic<std::size_t> connections{0};
    std::atomic<bool> draining{false};
    const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

}  // namespace cairn
