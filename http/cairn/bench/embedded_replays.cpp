#include "http/cairn/bench/replays.hpp"

#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

namespace cairn::bench {
namespace {

embedded_store store_in(std::filesystem::path folder, std::string what) {
    embedded_store in;
    in.what = std::move(what);
    in.options.data = std::move(folder);
    return in;
}

class hits final : public embedded {
public:
    hits(std::filesystem::path folder, replay_load load)
        : embedded(store_in(std::move(folder), "cairn, embedded, asked for the id"), work::replays),
          size_bytes_(load.size_bytes),
          ids_(fill(load.size_bytes, load.blobs)) {}

    terms runs_under() const override {
        terms under = embedded::runs_under();
        under.checks = "none";  // before the body there are no bytes
        return under;
    }
    sample run(run_time time) override {
        return drive(1, time, spread::one_thread, [this](clock::time_point end, latencies& times) {
            return hold_until(end, times);
        });
    }

private:
    awaitable<void> hold_until(clock::time_point end, latencies& times) {
        std::minstd_rand random(std::random_device{}());
        do {
            const blob_id id = ids_[random() % ids_.size()];
            const auto began = clock::now();
            const auto held = co_await in().hold(id);
            times.add(clock::now() - began);
            if (!held) throw std::runtime_error("hold: " + held.error().message());
            if (!*held || (*held)->size_bytes != size_bytes_) {
                throw std::runtime_error("a blob is absent, or of another size");
            }
        } while (clock::now() < end);
    }

    const std::size_t size_bytes_;
    const std::vector<blob_id> ids_;
};

class reputs final : public embedded {
public:
    reputs(std::filesystem::path folder, replay_load load)
        : embedded(store_in(std::move(folder), "cairn, embedded"), work::replays) {
        fresh_bytes random;
        for (std::size_t i = 0; i < load.blobs; ++i) {
            bodies_.push_back(fresh_body(random, load.size_bytes));
        }
        drive(1, run_time(0), spread::one_thread,
              [this](clock::time_point, latencies&) { return put_all(); });
    }
    sample run(run_time time) override {
        return drive(1, time, spread::one_thread, [this](clock::time_point end, latencies& times) {
            return put_until(end, times);
        });
    }

private:
    awaitable<void> put_all() {
        for (const buffer& body : bodies_) {
            const blob_id id = co_await put_fresh(body);
            ids_.push_back(id);
        }
    }
    awaitable<void> put_until(clock::time_point end, latencies& times) {
        std::size_t turn = 0;
        do {
            const std::size_t chosen = turn++ % bodies_.size();
            buffer_source from(bodies_[chosen]);
            const std::optional<blob_id> claim = ids_[chosen];
            const auto began = clock::now();
            const auto stored = co_await in().put(from, claim);
            times.add(clock::now() - began);
            if (!stored) throw std::runtime_error("put: " + stored.error().message());
            if (stored->created) throw std::runtime_error("a replayed put was fresh");
        } while (clock::now() < end);
    }

    std::vector<buffer> bodies_;
    std::vector<blob_id> ids_;
};

}  // namespace

std::unique_ptr<contender> embedded_hits(std::filesystem::path folder, replay_load load) {
    return std::make_unique<hits>(std::move(folder), load);
}

std::unique_ptr<contender> embedded_reputs(std::filesystem::path folder, replay_load load) {
    return std::make_unique<reputs>(std::move(folder), load);
}

}  // namespace cairn::bench
