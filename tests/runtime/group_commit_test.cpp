// group_commit against its contract: what a caller is told, in what order things happen, and what a
// cancellation, a failure or a shutdown leaves behind, whenever it comes.
#include "runtime/group_commit.hpp"

#include "runtime/deadline.hpp"
#include "runtime/runtime.hpp"
#include "runtime/task_scope.hpp"
#include "tests/support/run_coro.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <doctest/doctest.h>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace cairn::test {
namespace {

using numbers = group_commit<int, int>;
using answers = std::vector<result<int>>;

awaitable<void> turns(int count) {
    for (int i = 0; i < count; ++i) co_await asio::post(asio::use_awaitable);
}

// A queue whose step a test can watch and hold: it answers each number with its double.
struct bench {
    explicit bench(executor on, group_commit_limits limits = {})
        : home(on),
          queue(
              "numbers", on, stop, [this](auto batch) { return step(batch); }, limits) {}

    awaitable<outcome> step(std::span<numbers::entry> batch) {
        CHECK(!std::exchange(running, true));
        std::vector<int> requests;
        for (auto& each : batch) {
            requests.push_back(each.request);
            each.reply = each.request * 2;
        }
        batches.push_back(requests);
        while (held) co_await turns(1);
        running = false;
        if (throws) throw std::runtime_error("the step broke");
        for (const int each : requests) {
            if (each == poison) co_return each_alone(batch);
        }
        co_return ending;
    }

    // A request that spoils its batch: alone, it leaves its own error.
    outcome each_alone(std::span<numbers::entry> batch) const {
        if (batch.size() == 1) batch.front().reply = error_code(errc::malformed);
        return outcome::untouched;
    }

    // Awaited as a child of a scope: puts the answer into its place.
    awaitable<void> ask(int request, result<int>& answer) {
        answer = co_await queue.submit(request);
        order.push_back(request);
    }

    executor home;
    fail_stop stop;
    bool held = false;
    bool throws = false;
    int poison = -1;
    outcome ending = outcome::committed;
    bool running = false;
    std::vector<std::vector<int>> batches;
    std::vector<int> order;  // in which callers went on
    numbers queue;
};

template <class... Args>
void run(awaitable<void> (*body)(bench&, Args...), group_commit_limits limits, Args... args) {
    asio::io_context context;
    bench on(context.get_executor(), limits);
    run_coro(context, body(on, std::move(args)...));
}

void run(awaitable<void> (*body)(bench&)) { run(body, {}); }

// Caller 0 is in the step, which is held; the others arrive behind it.
awaitable<void> arrive_behind_a_step(bench& on, task_scope& callers, answers& got) {
    on.held = true;
    for (int i = 0; i < std::ssize(got); ++i) {
        callers.spawn(on.ask(i, got[std::size_t(i)]));
        co_await turns(5);
    }
}

answers unasked(std::size_t count) { return answers(count, error_code(errc::absent)); }

awaitable<void> ask_one(bench& on) {
    const auto reply = co_await on.queue.submit(21);
    CHECK(reply.value() == 42);
    CHECK(on.queue.counts().batches == 1);
    CHECK(on.queue.counts().entries == 1);
    co_await on.queue.close();
}

TEST_CASE("group_commit: a lone request runs at once and gets its own reply") { run(ask_one); }

awaitable<void> gather(bench& on) {
    answers got = unasked(10);
    task_scope callers(on.home);
    co_await arrive_behind_a_step(on, callers, got);
    CHECK(on.batches == std::vector<std::vector<int>>{{0}});
    on.held = false;
    co_await callers.join();
    CHECK(on.batches == std::vector<std::vector<int>>{{0}, {1, 2, 3, 4, 5, 6, 7, 8, 9}});
    CHECK(on.order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    for (int i = 0; i < 10; ++i) CHECK(got[std::size_t(i)].value() == 2 * i);
    co_await on.queue.close();
}

awaitable<void> submit_in_one_turn(bench& on) {
    task_scope callers(on.home);
    const auto ask_often = [](bench& to) -> awaitable<void> {
        for (int i = 0; i < 10; ++i) {
            const auto reply = co_await to.queue.submit(i);
            CHECK(reply.value() == 2 * i);
        }
    };
    for (int i = 0; i < 8; ++i) callers.spawn(ask_often(on));
    co_await callers.join();
    CHECK(on.queue.counts().batches == 10);
    co_await on.queue.close();
}

TEST_CASE("group_commit: callers on one thread who keep submitting share every batch") {
    run(submit_in_one_turn);
}

TEST_CASE("group_commit: what arrives during a step is the next batch, in order of arrival") {
    run(gather);
}

awaitable<void> limit_entries(bench& on) {
    answers got = unasked(7);
    task_scope callers(on.home);
    co_await arrive_behind_a_step(on, callers, got);
    on.held = false;
    co_await callers.join();
    CHECK(on.batches == std::vector<std::vector<int>>{{0}, {1, 2, 3}, {4, 5, 6}});
    co_await on.queue.close();
}

TEST_CASE("group_commit: a batch holds no more entries than its limit") {
    group_commit_limits limits;
    limits.batch_entries = 3;
    run(limit_entries, limits);
}

TEST_CASE("group_commit: a batch holds no more bytes than its limit, a larger request goes alone") {
    asio::io_context context;
    fail_stop stop;
    std::vector<std::size_t> sizes;
    group_commit_limits limits;
    limits.batch_bytes = 100;
    auto step = [&sizes](auto batch) -> awaitable<outcome> {
        sizes.push_back(batch.size());
        for (auto& each : batch) each.reply = 0;
        co_return outcome::committed;
    };
    numbers queue("bytes", context.get_executor(), stop, step, limits,
                  [](const int& request) { return static_cast<std::size_t>(request); });
    const auto ask_all = [](numbers& on) -> awaitable<void> {
        const executor here = co_await asio::this_coro::executor;
        task_scope callers(here);
        const auto ask = [](numbers& to, int bytes) -> awaitable<void> {
            const auto reply = co_await to.submit(bytes);
            CHECK(reply);
        };
        for (const int bytes : {40, 40, 40, 500, 20, 20}) callers.spawn(ask(on, bytes));
        co_await callers.join();
        co_await on.close();
    };
    run_coro(context, ask_all(queue));
    CHECK(sizes == std::vector<std::size_t>{2, 1, 1, 2});
}

awaitable<void> spoil(bench& on) {
    answers got = unasked(9);
    task_scope callers(on.home);
    on.poison = 5;
    for (int i = 0; i < 9; ++i) callers.spawn(on.ask(i, got[std::size_t(i)]));
    co_await callers.join();
    for (int i = 0; i < 9; ++i) {
        if (i == 5)
            CHECK(got[5].error() == errc::malformed);
        else
            CHECK(got[std::size_t(i)].value() == 2 * i);
    }
    CHECK(!on.stop.tripped());
    co_await on.queue.close();
}

TEST_CASE("group_commit: a request that spoils its batch fails alone") { run(spoil); }

awaitable<void> fail_sync(bench& on) {
    answers got = unasked(6);
    task_scope callers(on.home);
    on.ending = outcome::unknown;
    co_await arrive_behind_a_step(on, callers, got);
    on.held = false;
    co_await callers.join();
    CHECK(got[0].error() == errc::outcome_unknown);
    for (int i = 1; i < 6; ++i) CHECK(got[std::size_t(i)].error() == errc::stopped);
    CHECK(on.stop.tripped());
    CHECK(on.stop.description().find("numbers") != std::string::npos);
    const auto late = co_await on.queue.submit(7);
    CHECK(late.error() == errc::stopped);
    CHECK(on.batches.size() == 1);
    co_await on.queue.close();
}

TEST_CASE("group_commit: after a sync that failed nobody is told that it happened, for good") {
    run(fail_sync);
}

awaitable<void> break_step(bench& on) {
    on.throws = true;
    const auto reply = co_await on.queue.submit(1);
    CHECK(reply.error() == errc::outcome_unknown);
    CHECK(on.stop.description().find("the step broke") != std::string::npos);
    const auto late = co_await on.queue.submit(2);
    CHECK(late.error() == errc::stopped);
    co_await on.queue.close();
}

TEST_CASE("group_commit: a step that throws counts as a sync that failed") { run(break_step); }

awaitable<void> stop_from_outside(bench& on) {
    answers got = unasked(3);
    task_scope callers(on.home);
    co_await arrive_behind_a_step(on, callers, got);
    on.stop.trip(errc::outcome_unknown, "another queue");
    on.held = false;
    co_await callers.join();
    CHECK(got[0].has_value());  // its own step ended well
    CHECK(got[1].error() == errc::stopped);
    CHECK(got[2].error() == errc::stopped);
    CHECK(on.batches.size() == 1);
    co_await on.queue.close();
}

TEST_CASE("group_commit: when another queue's sync failed, no further step runs") {
    run(stop_from_outside);
}

awaitable<void> fill_up(bench& on) {
    answers got = unasked(8);
    task_scope callers(on.home);
    co_await arrive_behind_a_step(on, callers, got);
    CHECK(on.batches == std::vector<std::vector<int>>{{0}});
    on.held = false;
    co_await callers.join();
    for (const auto& batch : on.batches) CHECK(batch.size() <= 3);
    for (int i = 0; i < 8; ++i) CHECK(got[std::size_t(i)].value() == 2 * i);
    CHECK(on.order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
    co_await on.queue.close();
}

TEST_CASE("group_commit: callers beyond the queue's room wait for it, and all get their turn") {
    group_commit_limits limits;
    limits.queue_entries = 3;
    run(fill_up, limits);
}

// Cancels the caller with number 9 after so many turns; callers 0, 1 and 2 are before it.
awaitable<void> cancel_after(bench& on, int count) {
    answers got = unasked(3);
    answers late = unasked(1);
    task_scope callers(on.home);
    task_scope cancelled(on.home);
    co_await arrive_behind_a_step(on, callers, got);
    cancelled.spawn(on.ask(9, late[0]));
    for (int i = 0; i < count; ++i) {
        if (i == 10) on.held = false;
        co_await turns(1);
    }
    cancelled.request_stop();
    co_await cancelled.join();
    on.held = false;
    co_await callers.join();

    const bool in_a_batch = std::any_of(on.batches.begin(), on.batches.end(), [](auto& batch) {
        return std::find(batch.begin(), batch.end(), 9) != batch.end();
    });
    const bool answered = late[0].has_value();
    CHECK(answered == in_a_batch);
    for (int i = 0; i < 3; ++i) CHECK(got[std::size_t(i)].value() == 2 * i);
    const auto after = co_await on.queue.submit(4);
    CHECK(after.value() == 8);
    co_await on.queue.close();
}

TEST_CASE("group_commit: a cancelled caller either is withdrawn or gets the reply of its batch") {
    group_commit_limits roomy;
    group_commit_limits narrow;
    narrow.queue_entries = 2;  // the cancelled caller waits for room
    for (const auto& limits : {roomy, narrow}) {
        for (int count = 0; count < 40; ++count) {
            CAPTURE(count);
            run(cancel_after, limits, int(count));
        }
    }
}

awaitable<void> cancel_in_batch(bench& on) {
    answers got = unasked(1);
    task_scope callers(on.home);
    on.held = true;
    callers.spawn(on.ask(0, got[0]));
    co_await turns(5);
    REQUIRE(on.batches.size() == 1);
    callers.request_stop();
    co_await turns(5);
    CHECK(callers.size() == 1);
    on.held = false;
    co_await callers.join();
    CHECK(got[0].value() == 0);
    co_await on.queue.close();
}

TEST_CASE("group_commit: a caller cancelled in its batch waits for the reply and gets it") {
    run(cancel_in_batch);
}

awaitable<void> close_while_busy(bench& on) {
    answers got = unasked(5);
    task_scope callers(on.home);
    co_await arrive_behind_a_step(on, callers, got);
    task_scope closers(on.home);
    bool closed = false;
    const auto close = [](bench& to, bool& done) -> awaitable<void> {
        co_await to.queue.close();
        done = true;
    };
    closers.spawn(close(on, closed));
    co_await turns(5);
    CHECK(!closed);
    const auto late = co_await on.queue.submit(6);
    CHECK(late.error() == errc::closed);
    on.held = false;
    co_await closers.join();
    co_await callers.join();
    for (int i = 0; i < 5; ++i) CHECK(got[std::size_t(i)].value() == 2 * i);
    co_await on.queue.close();  // once more is no harm
}

TEST_CASE("group_commit: close answers all who came before and refuses all who come after") {
    run(close_while_busy);
}

awaitable<void> close_while_full(bench& on) {
    answers got = unasked(6);
    task_scope callers(on.home);
    co_await arrive_behind_a_step(on, callers, got);
    task_scope closers(on.home);
    closers.spawn(on.queue.close());
    co_await turns(5);
    on.held = false;
    co_await closers.join();
    for (int i = 0; i < 6; ++i) {
        const auto& each = got[std::size_t(i)];
        CHECK((each.has_value() || each.error() == errc::closed));
    }
    CHECK(got[0].has_value());
    co_await callers.join();
}

TEST_CASE("group_commit: close waits for those who wait for room, too") {
    group_commit_limits limits;
    limits.queue_entries = 2;
    run(close_while_full, limits);
}

// Destroyed as soon as close() returns, while other threads still try to get in.
TEST_CASE("group_commit: nobody is inside when close returns") {
    for (int round = 0; round < 200; ++round) {
        runtime_options options;
        options.threads = 2;
        runtime on(options);
        fail_stop stop;
        auto step = [](auto batch) -> awaitable<outcome> {
            for (auto& each : batch) each.reply = 1;
            co_return outcome::committed;
        };
        group_commit_limits limits;
        limits.queue_entries = 2;
        auto queue =
            std::make_unique<numbers>("numbers", on.at(0).get_executor(), stop, step, limits);
        const auto ask = [](numbers& to) -> awaitable<bool> {
            const auto reply = co_await to.submit(1);
            co_return reply || reply.error() == errc::closed;
        };
        std::vector<std::future<bool>> callers;
        for (int i = 0; i < 8; ++i) {
            callers.push_back(asio::co_spawn(on.at(std::size_t(i) % 2).get_executor(), ask(*queue),
                                             asio::use_future));
        }
        for (auto& each : callers) CHECK(each.get());
        on.run(queue->close());
        queue.reset();
    }
}

TEST_CASE("group_commit: many threads are served by one queue, and load makes batches grow") {
    static constexpr int threads = 4;
    static constexpr int callers = 16;
    static constexpr int requests = 50;
    runtime_options options;
    options.threads = threads;
    runtime on(options);
    fail_stop stop;
    std::atomic<int> at_once{0};
    loop_thread home("home");
    auto step = [&at_once](auto batch) -> awaitable<outcome> {
        CHECK(at_once.fetch_add(1) == 0);
        for (auto& each : batch) each.reply = each.request + 1;
        co_await sleep_for(std::chrono::milliseconds(1));  // as a disk takes it
        at_once.fetch_sub(1);
        co_return outcome::committed;
    };
    numbers queue("numbers", home.get_executor(), stop, step);
    const auto ask = [](numbers& to, int first) -> awaitable<int> {
        int good = 0;
        const auto here = std::this_thread::get_id();
        for (int i = first; i < first + requests; ++i) {
            const auto reply = co_await to.submit(i);
            if (reply && *reply == i + 1 && std::this_thread::get_id() == here) ++good;
        }
        co_return good;
    };
    std::vector<std::future<int>> all;
    for (int i = 0; i < threads * callers; ++i) {
        all.push_back(
            asio::co_spawn(on.next().get_executor(), ask(queue, i * 1000), asio::use_future));
    }
    int good = 0;
    for (auto& each : all) good += each.get();
    CHECK(good == threads * callers * requests);
    on.run(queue.close());
    const auto counts = queue.counts();
    CHECK(counts.entries == threads * callers * requests);
    CHECK(counts.batches * 4 < counts.entries);
}

}  // namespace
}  // namespace cairn::test
