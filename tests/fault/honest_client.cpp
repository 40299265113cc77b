#include "tests/fault/honest_client.hpp"

#include "tests/support/http_client.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto pace = 4ms;
constexpr auto patience = 10s;  // what takes longer is not answered
const std::string readable(1'000, 'r');

// Takes the times.
double percentile_99(std::vector<double>& times) {
    if (times.empty()) return 0;
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() * 99 / 100);
    std::nth_element(times.begin(), at, times.end());
    const double found = *at;
    times.clear();
    return found;
}

}  // namespace

honest_client::honest_client(std::uint16_t port) : port_(port) {
    http_client client("127.0.0.1", port_);
    target_ = client.post("/blobs", readable).header("location");
}

honest_client::~honest_client() {
    if (thread_.joinable()) end();
}

void honest_client::begin() {
    over_ = false;
    thread_ = std::thread([this] { run(); });
}

honest_times honest_client::end() {
    over_ = true;
    thread_.join();
    honest_times all;
    all.requests = gets_.size() + puts_.size() + fresh_.size();
    all.get_ms = percentile_99(gets_);
    all.put_ms = percentile_99(puts_);
    all.fresh_ms = percentile_99(fresh_);
    all.complaints = std::exchange(complaints_, {});
    return all;
}

void honest_client::run() {
    std::optional<http_client> kept;
    auto next = clock::now();
    while (!over_) {
        try {
            if (!kept) kept.emplace("127.0.0.1", port_, patience);
            ask(*kept);
        } catch (const connection_lost& e) {
            complaints_.push_back(e.what());
            kept.reset();
        }
        next = std::max(next + pace, clock::now());
        std::this_thread::sleep_until(next);
    }
}

void honest_client::ask(http_client& kept) {
    const auto begin = clock::now();
    const auto note = [&](std::vector<double>& times, int status, int expected) {
        times.push_back(std::chrono::duration<double, std::milli>(clock::now() - begin).count());
        if (status == expected) return;
        complaints_.push_back("answered " + std::to_string(status) + " instead of " +
                              std::to_string(expected));
    };
    switch (++number_ % 4) {
        case 0: {
            http_client fresh("127.0.0.1", port_, patience);
            note(fresh_, fresh.get(target_).status, 200);
            break;
        }
        case 1: {
            const std::string bytes = "blob " + std::to_string(number_) + readable;
            note(puts_, kept.post("/blobs", bytes).status, 201);
            break;
        }
        default: note(gets_, kept.get(target_).status, 200); break;
    }
}

}  // namespace cairn::test
