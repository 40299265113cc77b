#include "http/cairn/bench/reads.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

namespace cairn::bench {
namespace {

class reads final : public embedded {
public:
    reads(embedded_store in, read_load load)
        : embedded(std::move(in), work::reads),
          load_(load),
          ids_(fill(load.size_bytes, load.blobs)) {}

    sample run(run_time time) override {
        return drive(
            load_.callers, time, spread::all_threads,
            [this](clock::time_point end, latencies& times) { return read_until(end, times); });
    }

private:
    awaitable<void> read_until(clock::time_point end, latencies& times) {
        std::minstd_rand random(std::random_device{}());
        std::vector<std::byte> copy(load_.size_bytes);
        do {
            const blob_id id = ids_[random() % ids_.size()];
            const auto began = clock::now();
            co_await read_whole(id, copy);
            times.add(clock::now() - began);
            // A hit does not suspend: the others would wait until the time is over.
            if (load_.callers > 1) co_await asio::post(asio::use_awaitable_t<executor>());
        } while (clock::now() < end);
    }
    awaitable<void> read_whole(blob_id id, std::vector<std::byte>& to) {
        const byte_range whole;
        const auto opened = co_await in().get(id, whole);
        if (!opened) throw std::runtime_error("get: " + opened.error().message());
        if (*opened == nullptr) throw std::runtime_error("a blob is absent");
        std::size_t count = 0;
        for (;;) {
            const auto window = co_await (*opened)->next();
            if (!window) throw std::runtime_error("get: " + window.error().message());
            if (window->empty()) break;
            if (count + window->size() > to.size()) break;
            std::memcpy(to.data() + count, window->data(), window->size());
            count += window->size();
        }
        if (count != to.size()) throw std::runtime_error("a blob of another size");
    }

    const read_load load_;
    const std::vector<blob_id> ids_;
};

}  // namespace

std::unique_ptr<contender> reads_from(embedded_store in, read_load load) {
    return std::make_unique<reads>(std::move(in), load);
}

std::unique_ptr<contender> embedded_reads(std::filesystem::path folder,
                                          read_load load,
                                          std::size_t cache_bytes) {
    embedded_store in;
    in.what = cache_bytes > 0 ? "cairn, embedded" : "cairn, embedded, no cache";
    in.options.data = std::move(folder);
    in.options.cache_bytes = cache_bytes;
    return reads_from(std::move(in), load);
}

}  // namespace cairn::bench
