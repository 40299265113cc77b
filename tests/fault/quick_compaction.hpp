// Compaction that is always in the way, so that faults and crashes meet it; and how much it did.
#pragma once

#include "runtime/deadline.hpp"
#include "store/compactor.hpp"
#include "store/store.hpp"
#include "tests/support/http_client.hpp"

#include <cstdint>
#include <string>

namespace cairn::test {

inline compaction_options quick_compaction() {
    compaction_options options;
    options.look_every = std::chrono::milliseconds(1);
    options.time_share = 1;
    options.bytes_per_second = 1e12;
    options.load_puts = SIZE_MAX;
    return options;
}

// Until nothing dead is left, or for a moment: what is bad stays where it is.
inline awaitable<void> await_compaction(store& in) {
    for (int i = 0; i < 50; ++i) {
        auto status = co_await in.status();
        const bool done = status && status->bulk_dead_bytes == 0 && status->reclaim_count == 0;
        if (!status || !status->stopped.empty() || done) co_return;
        co_await sleep_for(std::chrono::milliseconds(1));
    }
}

// How many blobs the server's compaction has moved since it started.
inline std::uint64_t moved_blobs(std::uint16_t port) {
    constexpr std::string_view key = "cairn_compaction_blobs_total{outcome=\"moved\"} ";
    http_client client("127.0.0.1", port);
    const std::string counts = client.get("/metrics").body;
    const std::size_t at = counts.find(key);
    return at == std::string::npos ? 0 : std::stoull(counts.substr(at + key.size()));
}

}  // namespace cairn::test
