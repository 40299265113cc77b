#include "http/cairn/bench/embedded.hpp"

#include "runtime/runtime.hpp"
#include "runtime/task_scope.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <functional>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cairn::bench {
namespace {

using clock = std::chrono::steady_clock;

buffer fresh_body(fresh_bytes& random, std::size_t size_bytes) {
    buffer body = buffer::allocate(size_bytes);
    random.fill(body.mutable_data(), size_bytes);
    return body;
}

awaitable<blob_id> put_fresh(store& to, buffer body) {
    buffer_source from(std::move(body));
    const auto stored = co_await to.put(from, std::nullopt);
    if (!stored) throw std::runtime_error("put: " + stored.error().message());
    if (!stored->created) throw std::runtime_error("a fresh put was not fresh");
    co_return stored->id;
}

awaitable<void> read_whole(store& from, blob_id id, std::size_t size_bytes) {
    const byte_range whole;
    const auto opened = co_await from.get(id, whole);
    if (!opened) throw std::runtime_error("get: " + opened.error().message());
    if (*opened == nullptr) throw std::runtime_error("a blob is absent");
    std::size_t count = 0;
    for (;;) {
        const auto window = co_await (*opened)->next();
        if (!window) throw std::runtime_error("get: " + window.error().message());
        if (window->empty()) break;
        count += window->size();
    }
    if (count != size_bytes) throw std::runtime_error("a blob of another size");
}

awaitable<void> put_until(store& to,
                          std::size_t size_bytes,
                          clock::time_point end,
                          latencies& times) {
    fresh_bytes random;
    while (clock::now() < end) {
        buffer body = fresh_body(random, size_bytes);
        const auto began = clock::now();
        co_await put_fresh(to, std::move(body));
        times.add(clock::now() - began);
    }
}

awaitable<void> read_until(store& from,
                           const std::vector<blob_id>& ids,
                           std::size_t size_bytes,
                           clock::time_point end,
                           latencies& times) {
    std::minstd_rand random(std::random_device{}());
    while (clock::now() < end) {
        const blob_id id = ids[random() % ids.size()];
        const auto began = clock::now();
        co_await read_whole(from, id, size_bytes);
        times.add(clock::now() - began);
    }
}

// Its share of the blobs that reads shall find.
awaitable<void> put_some(store& to,
                         std::size_t size_bytes,
                         std::size_t count,
                         std::vector<blob_id>& ids) {
    fresh_bytes random;
    for (std::size_t i = 0; i < count; ++i) {
        buffer body = fresh_body(random, size_bytes);
        const blob_id id = co_await put_fresh(to, std::move(body));
        ids.push_back(id);
    }
}

// Opens and closes the store.
class embedded : public contender {
public:
    explicit embedded(embedded_store in) : in_(std::move(in)) {
        store_ = threads_.run(open_store(threads_, in_.options)).value();
    }
    ~embedded() override { threads_.run(store_->close()); }

    std::string what() const override { return in_.what; }

protected:
    using caller = std::function<awaitable<void>(clock::time_point end, latencies& times)>;

    // So many callers at once, until the time is over.
    sample drive(std::size_t callers, run_time time, const caller& call) {
        return threads_.run(drive_here(callers, time, call));
    }
    static awaitable<sample> drive_here(std::size_t callers, run_time time, const caller& call) {
        const executor here = co_await asio::this_coro::executor;
        latencies times;
        const auto began = clock::now();
        task_scope scope(here);
        for (std::size_t i = 0; i < callers; ++i) scope.spawn(call(began + time, times));
        co_await scope.join();
        co_return times.rate_over(clock::now() - began);
    }

    const embedded_store in_;
    runtime threads_;
    std::unique_ptr<store> store_;
};

class puts final : public embedded {
public:
    puts(embedded_store in, put_load load) : embedded(std::move(in)), load_(load) {}

    sample run(run_time time) override {
        return drive(load_.callers, time, [this](clock::time_point end, latencies& times) {
            return put_until(*store_, load_.size_bytes, end, times);
        });
    }

private:
    const put_load load_;
};

class reads final : public embedded {
public:
    reads(embedded_store in, read_load load) : embedded(std::move(in)), load_(load) {
        const std::size_t writers = std::min<std::size_t>(load.blobs, 64);
        drive(writers, run_time(0), [&](clock::time_point, latencies&) {
            return put_some(*store_, load_.size_bytes, load_.blobs / writers, ids_);
        });
    }
    sample run(run_time time) override {
        return drive(load_.callers, time, [this](clock::time_point end, latencies& times) {
            return read_until(*store_, ids_, load_.size_bytes, end, times);
        });
    }

private:
    const read_load load_;
    std::vector<blob_id> ids_;
};

}  // namespace

std::unique_ptr<contender> puts_into(embedded_store in, put_load load) {
    return std::make_unique<puts>(std::move(in), load);
}

std::unique_ptr<contender> reads_from(embedded_store in, read_load load) {
    return std::make_unique<reads>(std::move(in), load);
}

}  // namespace cairn::bench
