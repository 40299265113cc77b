#include "http/cairn/bench/puts.hpp"
#include "runtime/runtime.hpp"
#include "runtime/task_scope.hpp"
#include "store/open_store.hpp"

#include <boost/asio/this_coro.hpp>
#include <stdexcept>

namespace cairn::bench {
namespace {

using clock = std::chrono::steady_clock;

awaitable<void> put_until(store& to,
                          std::size_t size_bytes,
                          clock::time_point end,
                          latencies& times) {
    fresh_bytes random;
    while (clock::now() < end) {
        buffer body = buffer::allocate(size_bytes);
        random.fill(body.mutable_data(), size_bytes);
        const auto began = clock::now();
        buffer_source from(std::move(body));
        const auto stored = co_await to.put(from, std::nullopt);
        if (!stored) throw std::runtime_error("put: " + stored.error().message());
        if (!stored->created) throw std::runtime_error("a fresh put was not fresh");
        times.add(clock::now() - began);
    }
}

awaitable<sample> load_store(store& to, put_load load, run_time time) {
    const executor here = co_await asio::this_coro::executor;
    latencies times;
    const auto began = clock::now();
    task_scope callers(here);
    for (std::size_t i = 0; i < load.callers; ++i) {
        callers.spawn(put_until(to, load.size_bytes, began + time, times));
    }
    co_await callers.join();
    co_return times.rate_over(clock::now() - began);
}

class embedded final : public contender {
public:
    embedded(std::filesystem::path folder, put_load load, std::size_t inline_bytes_max)
        : load_(load), inline_bytes_max_(inline_bytes_max) {
        store_options options;
        options.data = std::move(folder);
        options.inline_bytes_max = inline_bytes_max;
        store_ = threads_.run(open_store(threads_, options)).value();
    }
    ~embedded() override { threads_.run(store_->close()); }

    std::string what() const override {
        const bool in_rows = load_.size_bytes <= inline_bytes_max_;
        return in_rows ? "cairn, embedded, in SQLite" : "cairn, embedded, in segments";
    }
    sample run(run_time time) override { return threads_.run(load_store(*store_, load_, time)); }

private:
    const put_load load_;
    const std::size_t inline_bytes_max_;
    runtime threads_;
    std::unique_ptr<store> store_;
};

}  // namespace

std::unique_ptr<contender> embedded_puts(std::filesystem::path folder,
                                         put_load load,
                                         std::size_t inline_bytes_max) {
    return std::make_unique<embedded>(std::move(folder), load, inline_bytes_max);
}

}  // namespace cairn::bench
