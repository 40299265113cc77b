#include "http/cairn/bench/callers.hpp"
#include "http/cairn/bench/child_server.hpp"
#include "http/cairn/bench/http_caller.hpp"
#include "http/cairn/bench/puts.hpp"
#include "runtime/hash.hpp"

namespace cairn::bench {
namespace {

class over_http final : public contender {
public:
    over_http(const std::filesystem::path& folder, put_load load)
        : load_(load), server_(child_server::cairn(folder, 0)) {
        for (std::size_t i = 0; i < load.callers; ++i) {
            callers_.push_back(std::make_unique<http_caller>(server_.port()));
            bodies_.emplace_back(load.size_bytes);
            random_.emplace_back();
        }
    }
    std::string what() const override { return "cairn serve, a connection for each caller"; }
    sample run(run_time time) override {
        return drive(load_.callers, time, [this](std::size_t caller, latencies& times) {
            std::vector<std::byte>& body = bodies_[caller];
            random_[caller].fill(body.data(), body.size());
            const std::string target = "/blobs/" + to_hex(sha256::of(body));
            const auto began = std::chrono::steady_clock::now();
            callers_[caller]->put(target, body, 201);
            times.add(std::chrono::steady_clock::now() - began);
        });
    }

private:
    const put_load load_;
    const child_server server_;
    std::vector<std::unique_ptr<http_caller>> callers_;
    std::vector<std::vector<std::byte>> bodies_;
    std::vector<fresh_bytes> random_;
};

}  // namespace

std::unique_ptr<contender> http_puts(std::filesystem::path folder, put_load load) {
    return std::make_unique<over_http>(folder, load);
}

}  // namespace cairn::bench
