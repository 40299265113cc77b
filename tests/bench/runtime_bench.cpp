// A ladder of what waiting costs: each row adds one thing to the one above it.
#include "runtime/runtime.hpp"

#include "runtime/channel.hpp"
#include "runtime/deadline.hpp"
#include "runtime/group_commit.hpp"
#include "runtime/semaphore.hpp"
#include "runtime/task_scope.hpp"

#include <benchmark/benchmark.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <string>

namespace cairn {
namespace {

// Awaits body(count) on an io_context of its own; one iteration is one of `count`.
template <class Body>
void repeat(benchmark::State& state, Body body) {
    asio::io_context context(1);
    static constexpr int count = 1000;
    for (auto _ : state) {
        asio::co_spawn(context, body(count), [](std::exception_ptr failure) {
            if (failure) std::rethrow_exception(failure);
        });
        context.restart();
        context.run();
    }
    state.SetItemsProcessed(state.iterations() * count);
}

awaitable<void> nothing() { co_return; }

awaitable<result<std::uint64_t>> plus_one(std::uint64_t number) { co_return number + 1; }

void empty_coroutine(benchmark::State& state) {
    repeat(state, [](int count) -> awaitable<void> {
        for (int i = 0; i < count; ++i) co_await nothing();
    });
}

void coroutine_with_result(benchmark::State& state) {
    repeat(state, [](int count) -> awaitable<void> {
        std::uint64_t sum = 0;
        for (int i = 0; i < count; ++i) {
            const auto next = co_await plus_one(sum);
            sum = *next;
        }
        benchmark::DoNotOptimize(sum);
    });
}

void free_semaphore(benchmark::State& state) {
    static semaphore units(1);
    repeat(state, [](int count) -> awaitable<void> {
        for (int i = 0; i < count; ++i) {
            const semaphore::permit held = co_await units.acquire();
            benchmark::DoNotOptimize(held.units());
        }
    });
}

void turn_of_the_loop(benchmark::State& state) {
    repeat(state, [](int count) -> awaitable<void> {
        for (int i = 0; i < count; ++i) co_await asio::post(asio::use_awaitable);
    });
}

awaitable<void> push_all(channel<int>& to, int count) {
    for (int i = 0; i < count; ++i) {
        const auto pushed = co_await to.push(i);
        benchmark::DoNotOptimize(pushed.has_value());
    }
}

void channel_of_one(benchmark::State& state) {
    repeat(state, [](int count) -> awaitable<void> {
        const executor here = co_await asio::this_coro::executor;
        channel<int> values(1);
        task_scope pushers(here);
        pushers.spawn(push_all(values, count));
        for (int i = 0; i < count; ++i) {
            const auto value = co_await values.pop();
            benchmark::DoNotOptimize(value.has_value());
        }
        co_await pushers.join();
    });
}

void spawn_and_join(benchmark::State& state) {
    repeat(state, [](int count) -> awaitable<void> {
        const executor here = co_await asio::this_coro::executor;
        task_scope children(here);
        for (int i = 0; i < count; ++i) children.spawn(nothing());
        co_await children.join();
    });
}

void pool_call(benchmark::State& state) {
    static blocking_pool pool(2);
    repeat(state, [](int count) -> awaitable<void> {
        for (int i = 0; i < count; ++i) {
            auto call = [] { return 1; };
            const int one = co_await pool.run(std::move(call));
            benchmark::DoNotOptimize(one);
        }
    });
}

using numbers = group_commit<int, int>;

awaitable<outcome> echo(std::span<numbers::entry> batch) {
    for (auto& each : batch) each.reply = each.request;
    co_return outcome::committed;
}

awaitable<outcome> echo_after_a_sync(std::span<numbers::entry> batch) {
    co_await sleep_for(std::chrono::microseconds(75));
    for (auto& each : batch) each.reply = each.request;
    co_return outcome::committed;
}

awaitable<void> submit_all(numbers& to, int count) {
    for (int i = 0; i < count; ++i) {
        const auto reply = co_await to.submit(i);
        benchmark::DoNotOptimize(reply.has_value());
    }
}

awaitable<void> submit_from(numbers& to, int callers, int count) {
    const executor here = co_await asio::this_coro::executor;
    task_scope all(here);
    for (int i = 0; i < callers; ++i) all.spawn(submit_all(to, count));
    co_await all.join();
}

void group_commit_with(benchmark::State& state, numbers::step step, bool other_thread) {
    static constexpr int count = 100;
    const int callers = static_cast<int>(state.range(0));
    runtime_options options;
    options.threads = 2;
    runtime on(options);
    fail_stop stop;
    auto& home = on.at(0);
    auto& caller = on.at(other_thread ? 1 : 0);
    numbers queue("bench", home.get_executor(), stop, std::move(step));
    for (auto _ : state) {
        asio::co_spawn(caller.get_executor(), submit_from(queue, callers, count), asio::use_future)
            .get();
    }
    on.run(queue.close());
    const auto counts = queue.counts();
    state.SetItemsProcessed(state.iterations() * callers * count);
    state.counters["entries_per_batch"] =
        static_cast<double>(counts.entries) / static_cast<double>(counts.batches);
}

BENCHMARK(empty_coroutine)->Name("await/empty");
BENCHMARK(coroutine_with_result)->Name("await/result");
BENCHMARK(free_semaphore)->Name("await/semaphore");
BENCHMARK(turn_of_the_loop)->Name("await/post");
BENCHMARK(channel_of_one)->Name("await/channel");
BENCHMARK(spawn_and_join)->Name("await/spawn");
BENCHMARK(pool_call)->Name("await/pool");
BENCHMARK_CAPTURE(group_commit_with, same, echo, false)
    ->Name("group_commit/empty/same_thread")
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->UseRealTime();
BENCHMARK_CAPTURE(group_commit_with, other, echo, true)
    ->Name("group_commit/empty/other_thread")
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->UseRealTime();
BENCHMARK_CAPTURE(group_commit_with, same, echo_after_a_sync, false)
    ->Name("group_commit/75us/same_thread")
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->UseRealTime();
BENCHMARK_CAPTURE(group_commit_with, other, echo_after_a_sync, true)
    ->Name("group_commit/75us/other_thread")
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->UseRealTime();

}  // namespace
}  // namespace cairn
