// A store under full load for as long as it is asked: what it takes stays bounded, and no caller
// waits long while the disk does not. CAIRN_LONG=1: ten minutes each, with 10 GB that live.
#include "runtime/deadline.hpp"
#include "runtime/log.hpp"
#include "runtime/runtime.hpp"
#include "runtime/task_scope.hpp"
#include "store/open_store.hpp"
#include "tests/fault/crash_counts.hpp"
#include "tests/fault/footprint.hpp"
#include "tests/fault/stalls.hpp"
#include "tests/support/temp_dir.hpp"

#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <functional>
#include <random>
#include <stdexcept>

namespace cairn::test {
namespace {

constexpr std::uint64_t MiB = 1 << 20;
using clock = stalls::clock;

bool is_long() { return is_set("CAIRN_LONG", "1"); }

std::chrono::duration<double> soak_time() {
    return std::chrono::seconds(is_long() ? 600 : 10) * crash_scale();
}

buffer random_bytes(std::mt19937_64& random, std::size_t size_bytes) {
    buffer body = buffer::allocate(size_bytes);
    auto* words = reinterpret_cast<std::uint64_t*>(body.mutable_data());
    for (std::size_t i = 0; i < size_bytes / sizeof *words; ++i) words[i] = random();
    return body;
}

// A store on the disk, its callers, and who watches them.
class soak {
public:
    explicit soak(store_options with) {
        set_log_level(log_level::warn);
        with.data = folder_ / "store";
        store_ = threads_.run(open_store(threads_, std::move(with))).value();
    }
    ~soak() {
        threads_.run(store_->close());
        set_log_level(log_level::info);
    }

    // `callers` of them until the time is over; how many calls ended.
    using caller = std::function<awaitable<void>(std::size_t number)>;
    std::uint64_t run(std::size_t callers, const caller& call) {
        ends_ = clock::now() + std::chrono::duration_cast<clock::duration>(soak_time());
        calls_ = 0;
        threads_.run(run_here(callers, call));
        return calls_;
    }
    bool is_over() const { return clock::now() >= ends_; }

    awaitable<blob_id> put(buffer body) {
        const auto began = clock::now();
        buffer_source from(std::move(body));
        const auto stored = co_await store_->put(from, std::nullopt);
        if (!stored) throw std::runtime_error("put: " + stored.error().message());
        note(began);
        co_return stored->id;
    }
    awaitable<void> remove(blob_id id) {
        const auto began = clock::now();
        const auto removed = co_await store_->remove(id);
        if (!removed) throw std::runtime_error("remove: " + removed.error().message());
        CHECK(*removed);
        note(began);
    }

    store_status status() { return threads_.run(store_->status()).value(); }
    const footprint& most() const { return most_; }
    const stalls& waits() const { return waits_; }

    void report(const char* what, std::uint64_t calls) {
        const auto in_ms = [](clock::duration time) {
            return std::chrono::duration<double, std::milli>(time).count();
        };
        const store_status now = status();
        MESSAGE(
            fmt::format("{}: {} calls in {:.0f} s; at most {} MiB of log, {} MiB of memory, {} "
                        "descriptors, {} MiB of segments; {} MiB live and {} MiB dead at the "
                        "end; longest wait {:.0f} ms, of the control {:.0f} ms",
                        what, calls, soak_time().count(), most_.log_bytes / MiB,
                        most_.memory_bytes / MiB, most_.descriptors, most_.segment_bytes / MiB,
                        now.bulk_live_bytes / MiB, now.bulk_dead_bytes / MiB,
                        in_ms(waits_.longest()), in_ms(waits_.longest_of_control())));
    }

private:
    awaitable<void> run_here(std::size_t callers, const caller& call) {
        const executor here = co_await asio::this_coro::executor;
        task_scope scope(here);
        for (std::size_t i = 0; i < callers; ++i) scope.spawn(call(i));
        scope.spawn(watch());
        co_await scope.join();
    }
    awaitable<void> watch() {
        while (!is_over()) {
            most_.take_larger(footprint_of(folder_ / "store"));
            co_await sleep_for(std::chrono::milliseconds(200));
        }
    }
    void note(clock::time_point began) {
        ++calls_;
        waits_.add({began, clock::now()});
    }

    temp_dir folder_;
    runtime threads_{{.threads = 1, .blocking_threads = 2}};
    std::unique_ptr<store> store_;
    clock::time_point ends_;
    std::uint64_t calls_ = 0;
    footprint most_;
    stalls waits_{folder_.path()};
};

awaitable<void> put_small(soak& in, std::size_t number) {
    std::mt19937_64 random(number);
    while (!in.is_over()) {
        buffer body = random_bytes(random, 1024);
        (void)co_await in.put(std::move(body));
    }
}

// Its part of the live set: full at first, then a blob goes for each that comes.
awaitable<void> replace(soak& in, std::size_t number, std::uint64_t live_bytes) {
    std::mt19937_64 random(number);
    std::vector<blob_id> live;
    std::uint64_t filled_bytes = 0;
    while (filled_bytes < live_bytes || !in.is_over()) {
        const std::size_t size_bytes = (random() % 120 + 8) << 10;
        buffer body = random_bytes(random, size_bytes);
        const blob_id fresh = co_await in.put(std::move(body));
        if (filled_bytes < live_bytes) {
            live.push_back(fresh);
            filled_bytes += size_bytes;
            continue;
        }
        blob_id& old = live[random() % live.size()];
        const blob_id gone = std::exchange(old, fresh);
        co_await in.remove(gone);
    }
}

}  // namespace

TEST_CASE(
    "soak: 1 KiB puts at full load leave log, memory and descriptors bounded, and wait for "
    "nothing but the disk") {
    soak test({});
    const auto calls = test.run(64, [&](std::size_t number) { return put_small(test, number); });
    test.report("1 KiB puts", calls);
    CHECK(calls > 0);
    CHECK(test.most().log_bytes <= 64 * MiB);
    CHECK(test.most().memory_bytes <= 512 * MiB);
    CHECK(test.most().descriptors <= 100);
    CHECK(test.waits().unexplained(std::chrono::milliseconds(250)).size() == 0);
}

TEST_CASE("soak: puts and removals at full load leave dead space bounded as well") {
    constexpr std::size_t callers = 32;
    const std::uint64_t live_bytes = (is_long() ? 10'000 : 64) * MiB;
    store_options with;
    if (!is_long()) {
        with.segment_bytes = 8 * MiB;
        with.compaction.look_every = std::chrono::milliseconds(100);
    }
    const std::uint64_t segment_bytes = with.segment_bytes;
    soak test(std::move(with));
    const auto calls = test.run(
        callers, [&](std::size_t number) { return replace(test, number, live_bytes / callers); });
    test.report("puts and removals", calls);
    CHECK(test.most().log_bytes <= 64 * MiB);
    CHECK(test.most().memory_bytes <= 512 * MiB);
    CHECK(test.most().descriptors <= 400);
    // Compaction begins where half is dead; what comes until it is through is on top.
    CHECK(test.most().segment_bytes <= 4 * live_bytes + 16 * segment_bytes);
    CHECK(test.waits().unexplained(std::chrono::milliseconds(250)).size() == 0);
}

}  // namespace cairn::test
