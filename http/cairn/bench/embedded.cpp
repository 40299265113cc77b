#include "http/cairn/bench/embedded.hpp"

#include "http/cairn/bench/slow_disk.hpp"
#include "http/cairn/bench/slow_files.hpp"
#include "runtime/run_on.hpp"
#include "runtime/task_scope.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <stdexcept>
#include <utility>

namespace cairn::bench {

buffer fresh_body(fresh_bytes& random, std::size_t size_bytes) {
    buffer body = buffer::allocate(size_bytes);
    random.fill(body.mutable_data(), size_bytes);
    return body;
}

embedded::embedded(embedded_store in, work does) : in_(std::move(in)), does_(does) {
    store_options options = in_.options;
    if (this_disk().delay().count() > 0) options.wrap_files = on_slow_disk;
    auto opened = threads_.run(open_store(threads_, options));
    if (!opened) throw std::runtime_error("open: " + opened.error().message());
    store_ = std::move(*opened);
    kept_ = threads_.run(store_->status()).value().kept;
}

embedded::~embedded() { threads_.run(store_->close()); }

terms embedded::runs_under() const {
    terms under;
    under.does = does_;
    under.durability = to_string(kept_);
    if (in_.options.catalog.empty()) under.sync_delay = this_disk().delay();
    under.checks = does_ == work::reads ? "XXH3 at the first read" : "SHA-256, XXH3 of each window";
    return under;
}

sample embedded::drive(std::size_t callers, run_time time, spread over, const caller& call) {
    return threads_.run(drive_here(callers, time, over, call));
}

awaitable<sample> embedded::drive_here(std::size_t callers,
                                       run_time time,
                                       spread over,
                                       const caller& call) {
    const executor here = co_await asio::this_coro::executor;
    std::vector<latencies> times(callers);
    const auto began = clock::now();
    task_scope scope(here);
    for (latencies& own : times) {
        awaitable<void> work = call(began + time, own);
        if (over == spread::all_threads) {
            work = run_on(threads_.next().get_executor(), std::move(work));
        }
        scope.spawn(std::move(work));
    }
    co_await scope.join();
    const auto took = clock::now() - began;
    latencies all;
    for (const latencies& own : times) all.add_all(own);
    co_return all.rate_over(took);
}

awaitable<blob_id> embedded::put_fresh(buffer body) {
    buffer_source from(std::move(body));
    const auto stored = co_await store_->put(from, std::nullopt);
    if (!stored) throw std::runtime_error("put: " + stored.error().message());
    if (!stored->created) throw std::runtime_error("a fresh put was not fresh");
    if (stored->kept != kept_) throw std::runtime_error("a put of another durability");
    co_return stored->id;
}

std::vector<blob_id> embedded::fill(std::size_t size_bytes, std::size_t count) {
    std::vector<blob_id> ids;
    const std::size_t writers = std::min<std::size_t>(count, 1024);  // share commits
    std::size_t share = count;
    drive(writers, run_time(0), spread::one_thread, [&](clock::time_point, latencies&) {
        const std::size_t own = std::min(share, (count + writers - 1) / writers);
        share -= own;
        return put_some(size_bytes, own, ids);
    });
    return ids;
}

awaitable<void> embedded::put_some(std::size_t size_bytes,
                                   std::size_t count,
                                   std::vector<blob_id>& ids) {
    fresh_bytes random;
    for (std::size_t i = 0; i < count; ++i) {
        buffer body = fresh_body(random, size_bytes);
        const blob_id id = co_await put_fresh(std::move(body));
        ids.push_back(id);
    }
}

}  // namespace cairn::bench
