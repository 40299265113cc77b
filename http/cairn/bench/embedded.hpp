// A store that is opened in this process, as an embedder does, and callers that are coroutines.
#pragma once

#include "http/cairn/bench/contender.hpp"
#include "store/open_store.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace cairn::bench {

struct embedded_store {
    std::string what;  // for people
    store_options options;
    std::shared_ptr<const void> stands_on;  // kept until the store is closed: its server
};

// Opens the store and closes it; loads derive from it. Throws std::runtime_error when the store
// does not do what was asked of it.
class embedded : public contender {
public:
    embedded(embedded_store in, work does);
    ~embedded() override;

    std::string what() const override { return in_.what; }
    terms runs_under() const override;

protected:
    using clock = std::chrono::steady_clock;
    using caller = std::function<awaitable<void>(clock::time_point end, latencies& times)>;
    enum class spread { one_thread, all_threads };

    // So many callers at once, until the time is over.
    sample drive(std::size_t callers, run_time time, spread over, const caller& call);

    // Puts a body that is not there yet.
    awaitable<blob_id> put_fresh(buffer body);
    // Fills the store with `count` blobs of random bytes; their ids.
    std::vector<blob_id> fill(std::size_t size_bytes, std::size_t count);

    store& in() { return *store_; }

private:
    awaitable<sample> drive_here(std::size_t callers,
                                 run_time time,
                                 spread over,
                                 const caller& call);
    awaitable<void> put_some(std::size_t size_bytes, std::size_t count, std::vector<blob_id>& ids);

    const embedded_store in_;
    const work does_;
    runtime threads_;
    std::unique_ptr<store> store_;
    durability kept_ = durability::none;
};

buffer fresh_body(fresh_bytes& random, std::size_t size_bytes);

}  // namespace cairn::bench
