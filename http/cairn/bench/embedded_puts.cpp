#include "http/cairn/bench/puts.hpp"

#include <utility>

namespace cairn::bench {
namespace {

class puts final : public embedded {
public:
    puts(embedded_store in, put_load load)
        : embedded(std::move(in), work::fresh_puts), load_(load) {
        fill(load.size_bytes, load.blobs);
    }
    sample run(run_time time) override {
        return drive(
            load_.callers, time, spread::one_thread,
            [this](clock::time_point end, latencies& times) { return put_until(end, times); });
    }

private:
    awaitable<void> put_until(clock::time_point end, latencies& times) {
        fresh_bytes random;
        do {
            buffer body = fresh_body(random, load_.size_bytes);
            const auto began = clock::now();
            co_await put_fresh(std::move(body));
            times.add(clock::now() - began);
        } while (clock::now() < end);
    }

    const put_load load_;
};

}  // namespace

std::unique_ptr<contender> puts_into(embedded_store in, put_load load) {
    return std::make_unique<puts>(std::move(in), load);
}

std::unique_ptr<contender> embedded_puts(std::filesystem::path folder,
                                         put_load load,
                                         std::size_t inline_bytes_max) {
    embedded_store in;
    const bool in_rows = load.size_bytes <= inline_bytes_max;
    in.what = in_rows ? "cairn, embedded, in SQLite" : "cairn, embedded, in segments";
    in.options.data = std::move(folder);
    in.options.inline_bytes_max = inline_bytes_max;
    return puts_into(std::move(in), load);
}

}  // namespace cairn::bench
