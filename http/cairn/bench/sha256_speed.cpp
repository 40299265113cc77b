#include "http/cairn/bench/callers.hpp"
#include "http/cairn/bench/replays.hpp"
#include "runtime/hash.hpp"

#include <stdexcept>

namespace cairn::bench {
namespace {

class hashing final : public contender {
public:
    explicit hashing(replay_load load) {
        fresh_bytes random;
        for (std::size_t i = 0; i < load.blobs; ++i) {
            bodies_.push_back(fresh_body(random, load.size_bytes));
        }
    }
    std::string what() const override { return "SHA-256 alone, one core"; }
    terms runs_under() const override { return {work::yardstick}; }
    sample run(run_time time) override {
        std::byte all{0};
        const sample result = drive(1, time, [&](std::size_t, latencies& times) {
            const buffer& body = bodies_[turn_++ % bodies_.size()];
            const auto began = std::chrono::steady_clock::now();
            const sha256_digest digest = sha256::of(body.view());
            times.add(std::chrono::steady_clock::now() - began);
            all |= digest[0] | digest[31];
        });
        if (all == std::byte{0}) throw std::runtime_error("a hash that is always zero");
        return result;
    }

private:
    std::vector<buffer> bodies_;
    std::size_t turn_ = 0;
};

}  // namespace

std::unique_ptr<contender> sha256_speed(replay_load load) {
    return std::make_unique<hashing>(load);
}

}  // namespace cairn::bench
