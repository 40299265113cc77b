// Semaphore, channel, task scope, deadline, pool: who waits, who goes on first, and what a
// cancellation leaves.
#include "runtime/blocking_pool.hpp"
#include "runtime/channel.hpp"
#include "runtime/deadline.hpp"
#include "runtime/runtime.hpp"
#include "runtime/semaphore.hpp"
#include "runtime/task_scope.hpp"
#include "tests/support/run_coro.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <doctest/doctest.h>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;
using boost::system::system_error;

awaitable<void> turns(int count) {
    for (int i = 0; i < count; ++i) co_await asio::post(asio::use_awaitable);
}

// --- semaphore

awaitable<void> take(semaphore& from, std::uint64_t units, std::string name, std::string& log) {
    const semaphore::permit taken = co_await from.acquire(units);
    CHECK(taken.units() == units);
    log += name;
    co_await turns(2);
}

awaitable<void> first_come() {
    const executor here = co_await asio::this_coro::executor;
    semaphore units(10);
    std::string log;
    task_scope callers(here);
    auto held = units.try_acquire(5);
    REQUIRE(held.has_value());
    callers.spawn(take(units, 8, "large ", log));
    callers.spawn(take(units, 1, "small ", log));
    co_await turns(5);
    CHECK(log.empty());
    CHECK(!units.try_acquire(1));  // never past those who wait
    held->release();
    co_await callers.join();
    CHECK(log == "large small ");
    CHECK(units.available() == 10);
}

TEST_CASE("semaphore: first come, first served: a large request is not starved by small ones") {
    run_coro(first_come());
}

awaitable<void> cancel_a_waiter() {
    const executor here = co_await asio::this_coro::executor;
    semaphore units(1);
    std::string log;
    task_scope cancelled(here);
    task_scope callers(here);
    auto held = units.try_acquire();
    cancelled.spawn(take(units, 1, "cancelled ", log));
    callers.spawn(take(units, 1, "next ", log));
    co_await turns(3);
    cancelled.request_stop();
    co_await cancelled.join();
    held->release();
    co_await callers.join();
    CHECK(log == "next ");
    CHECK(units.available() == 1);
}

TEST_CASE("semaphore: a cancelled waiter leaves the queue to those behind it") {
    run_coro(cancel_a_waiter());
}

awaitable<void> cancel_too_late() {
    const executor here = co_await asio::this_coro::executor;
    semaphore units(1);
    std::string log;
    task_scope cancelled(here);
    auto held = units.try_acquire();
    cancelled.spawn(take(units, 1, "granted ", log));
    co_await turns(3);
    held->release();
    cancelled.request_stop();
    co_await cancelled.join();
    CHECK(log == "granted ");
    CHECK(units.available() == 1);
}

TEST_CASE("semaphore: a cancellation after the grant loses no unit") {
    run_coro(cancel_too_late());
}

TEST_CASE("semaphore: permits move, and a moved-from one holds nothing") {
    semaphore units(3);
    auto first = units.try_acquire(2);
    semaphore::permit second = std::move(*first);
    CHECK(!*first);
    CHECK(second.units() == 2);
    second = semaphore::permit();
    CHECK(units.available() == 3);
    CHECK(!units.try_acquire(4));
}

TEST_CASE("semaphore: threads share it and nobody gets more than there is") {
    runtime_options options;
    options.threads = 4;
    runtime on(options);
    semaphore units(3);
    std::atomic<int> inside{0};
    const auto work = [](semaphore& from, std::atomic<int>& count) -> awaitable<bool> {
        bool good = true;
        for (int i = 0; i < 200; ++i) {
            const auto here = std::this_thread::get_id();
            const semaphore::permit held = co_await from.acquire();
            good = good && here == std::this_thread::get_id() && count.fetch_add(1) < 3;
            co_await turns(1);
            count.fetch_sub(1);
        }
        co_return good;
    };
    std::vector<std::future<bool>> all;
    for (int i = 0; i < 16; ++i) {
        all.push_back(
            asio::co_spawn(on.next().get_executor(), work(units, inside), asio::use_future));
    }
    for (auto& each : all) CHECK(each.get());
    CHECK(units.available() == 3);
}

// --- channel

awaitable<void> push_all(channel<int>& to, int count, int& pushed) {
    for (int i = 0; i < count; ++i) {
        const auto in = co_await to.push(i);
        if (!in) co_return;
        ++pushed;
    }
    to.close();
}

awaitable<void> pass_values() {
    const executor here = co_await asio::this_coro::executor;
    channel<int> values(3);
    int pushed = 0;
    task_scope pushers(here);
    pushers.spawn(push_all(values, 10, pushed));
    co_await turns(20);
    CHECK(pushed == 3);
    for (int i = 0; i < 10; ++i) {
        const auto value = co_await values.pop();
        CHECK(value == i);
    }
    const auto end = co_await values.pop();
    CHECK(!end);
    co_await pushers.join();
}

TEST_CASE("channel: values come out in order, a full one holds its pusher, a closed one drains") {
    run_coro(pass_values());
}

awaitable<void> close_on_waiters() {
    const executor here = co_await asio::this_coro::executor;
    channel<int> values(2);
    int pushed = 0;
    task_scope pushers(here);
    pushers.spawn(push_all(values, 10, pushed));
    co_await turns(10);
    values.close();
    co_await pushers.join();
    CHECK(pushed == 2);
    const auto refused = co_await values.push(9);
    CHECK(refused.error() == errc::closed);
    const auto first = co_await values.pop();
    CHECK(first == 0);
    const auto second = co_await values.pop();
    CHECK(second == 1);
    const auto end = co_await values.pop();
    CHECK(!end);
}

TEST_CASE("channel: closing refuses who waits for room, and keeps what is in") {
    run_coro(close_on_waiters());
}

awaitable<void> cancel_both_ends() {
    const executor here = co_await asio::this_coro::executor;
    channel<int> values(1);
    task_scope stopped(here);
    const auto pop_one = [](channel<int>& from, int& popped) -> awaitable<void> {
        const auto value = co_await from.pop();
        popped = value.value_or(-1);
    };
    int popped = -2;
    stopped.spawn(pop_one(values, popped));
    co_await turns(3);
    stopped.request_stop();
    co_await stopped.join();
    CHECK(popped == -2);

    CHECK(values.try_push(1));
    CHECK(!values.try_push(2));
    int pushed = 0;
    task_scope stopped_pusher(here);
    stopped_pusher.spawn(push_all(values, 1, pushed));
    co_await turns(3);
    stopped_pusher.request_stop();
    co_await stopped_pusher.join();
    CHECK(pushed == 0);
    const auto value = co_await values.pop();
    CHECK(value == 1);
    values.close();
    const auto end = co_await values.pop();
    CHECK(!end);
}

TEST_CASE("channel: a cancelled waiter takes nothing and leaves nothing") {
    run_coro(cancel_both_ends());
}

// --- task scope

awaitable<void> run_until_stopped(bool& stopped) {
    try {
        co_await sleep_for(1h);
    } catch (const system_error& e) {
        stopped = e.code() == asio::error::operation_aborted;
        throw;
    }
}

awaitable<void> fail_after_a_turn() {
    co_await turns(1);
    throw std::runtime_error("child broke");
}

awaitable<void> fail_one_child() {
    const executor here = co_await asio::this_coro::executor;
    bool stopped = false;
    task_scope children(here);
    children.spawn(run_until_stopped(stopped));
    children.spawn(fail_after_a_turn());
    std::string caught;
    try {
        co_await children.join();
    } catch (const std::runtime_error& e) {
        caught = e.what();
    }
    CHECK(caught == "child broke");
    CHECK(stopped);
    CHECK(children.size() == 0);
}

TEST_CASE("task_scope: a child that fails stops its siblings, and join rethrows its failure") {
    run_coro(fail_one_child());
}

awaitable<void> stop_children() {
    const executor here = co_await asio::this_coro::executor;
    bool first = false;
    bool second = false;
    task_scope children(here);
    children.spawn(run_until_stopped(first));
    co_await turns(2);
    children.request_stop();
    children.spawn(run_until_stopped(second));
    co_await children.join();  // a stopped child is no failure
    CHECK(first);
    CHECK(second);  // at its first wait
    CHECK(children.size() == 0);
}

TEST_CASE("task_scope: a stop reaches children and those spawned later") {
    run_coro(stop_children());
}

awaitable<void> outlive_the_joiner() {
    const executor here = co_await asio::this_coro::executor;
    int ended = 0;
    const auto count = [](int& to) -> awaitable<void> {
        co_await turns(5);
        ++to;
    };
    task_scope children(here);
    for (int i = 0; i < 3; ++i) children.spawn(count(ended));
    CHECK(children.size() == 3);
    co_await children.join();
    CHECK(ended == 3);
    co_await children.join();
}

TEST_CASE("task_scope: join returns when the last child has ended") {
    run_coro(outlive_the_joiner());
}

// --- deadline

awaitable<result<int>> answer_after(std::chrono::milliseconds time, bool& undisturbed) {
    co_await sleep_for(time);
    undisturbed = true;
    co_return 7;
}

awaitable<void> meet_deadlines() {
    const auto now = std::chrono::steady_clock::now();
    bool undisturbed = false;
    const auto in_time = co_await before(now + 1h, answer_after(1ms, undisturbed));
    CHECK(in_time.value() == 7);
    CHECK(undisturbed);
    undisturbed = false;
    const auto late = co_await before(now + 20ms, answer_after(1h, undisturbed));
    CHECK(late.error() == errc::timed_out);
    CHECK(!undisturbed);
    CHECK(std::chrono::steady_clock::now() - now < 10min);
}

TEST_CASE("deadline: what comes in time is the answer, what does not is cancelled") {
    run_coro(meet_deadlines());
}

awaitable<result<int>> break_at_once() {
    co_await turns(1);
    throw std::runtime_error("work broke");
}

awaitable<void> break_before_the_deadline() {
    const auto begin = std::chrono::steady_clock::now();
    std::string caught;
    try {
        const auto none = co_await before(begin + 5s, break_at_once());
        CHECK(!none);
    } catch (const std::runtime_error& e) {
        caught = e.what();
    }
    CHECK(caught == "work broke");
    CHECK(std::chrono::steady_clock::now() - begin < 4s);
}

TEST_CASE("deadline: what work throws is thrown at once, not at the deadline") {
    run_coro(break_before_the_deadline());
}

awaitable<void> cancel_before_the_deadline() {
    const executor here = co_await asio::this_coro::executor;
    const auto wait = [](bool& thrown) -> awaitable<void> {
        bool undisturbed = false;
        const auto at = std::chrono::steady_clock::now() + 1h;
        try {
            const auto none = co_await before(at, answer_after(30min, undisturbed));
            CHECK(!none);
        } catch (const system_error& e) {
            thrown = e.code() == asio::error::operation_aborted;
        }
    };
    bool thrown = false;
    task_scope children(here);
    children.spawn(wait(thrown));
    co_await turns(5);
    children.request_stop();
    co_await children.join();
    CHECK(thrown);
}

TEST_CASE("deadline: a caller that is cancelled is told so, and not that time ran out") {
    run_coro(cancel_before_the_deadline());
}

// --- blocking pool

TEST_CASE("blocking_pool: a call runs elsewhere and its caller goes on at home") {
    blocking_pool pool(2);
    const auto body = [](blocking_pool& on) -> awaitable<bool> {
        const auto home = std::this_thread::get_id();
        auto call = [] { return std::this_thread::get_id(); };
        const auto elsewhere = co_await on.run(std::move(call));
        co_return elsewhere != home&& std::this_thread::get_id() == home;
    };
    CHECK(run_coro(body(pool)));
}

TEST_CASE("blocking_pool: what a call throws is thrown where it is awaited") {
    blocking_pool pool(1);
    const auto body = [](blocking_pool& on) -> awaitable<std::string> {
        auto call = [] { throw std::runtime_error("call broke"); };
        std::string caught;
        try {
            co_await on.run(std::move(call));
        } catch (const std::runtime_error& e) {
            caught = e.what();
        }
        co_return caught;
    };
    CHECK(run_coro(body(pool)) == "call broke");
}

TEST_CASE("blocking_pool: more calls than threads and room all run, and values may be move-only") {
    blocking_pool pool(2, 3);
    const auto one = [](blocking_pool& on, int number, int& sum) -> awaitable<void> {
        auto call = [number] { return std::make_unique<int>(number); };
        const auto value = co_await on.run(std::move(call));
        sum += *value;
    };
    const auto body = [&one](blocking_pool& on) -> awaitable<int> {
        const executor here = co_await asio::this_coro::executor;
        int sum = 0;
        task_scope callers(here);
        for (int i = 1; i <= 100; ++i) callers.spawn(one(on, i, sum));
        co_await callers.join();
        co_return sum;
    };
    CHECK(run_coro(body(pool)) == 5050);
}

awaitable<void> cancel_pool_calls(blocking_pool& on) {
    const executor here = co_await asio::this_coro::executor;
    std::promise<void> gate;
    std::shared_future<void> opened(gate.get_future());
    int ran = 0;
    int answered = 0;
    const auto one = [](blocking_pool& pool, std::shared_future<void> wait, int& count,
                        int& done) -> awaitable<void> {
        auto call = [wait, &count] {
            wait.wait();
            ++count;
        };
        co_await pool.run(std::move(call));
        ++done;
    };
    task_scope callers(here);
    callers.spawn(one(on, opened, ran, answered));
    callers.spawn(one(on, opened, ran, answered));  // waits for room
    co_await turns(5);
    callers.request_stop();
    co_await turns(5);
    CHECK(callers.size() == 1);
    gate.set_value();
    co_await callers.join();
    CHECK(ran == 1);
    CHECK(answered == 1);
}

TEST_CASE("blocking_pool: a caller cancelled before its call withdraws it, one in its call waits") {
    blocking_pool pool(1, 1);
    run_coro(cancel_pool_calls(pool));
}

// --- runtime

TEST_CASE("runtime: run gives the value of a coroutine, or throws what it threw") {
    runtime_options options;
    options.threads = 2;
    runtime on(options);
    const auto value = []() -> awaitable<int> { co_return 5; };
    CHECK(on.run(value()) == 5);
    const auto thrower = []() -> awaitable<void> {
        throw std::runtime_error("broke");
        co_return;
    };
    // Caught and not looked at, which doctest would do: libstdc++ counts the owners of an exception
    // that two threads share where the thread sanitizer does not see it.
    bool threw = false;
    try {
        on.run(thrower());
    } catch (const std::runtime_error&) {
        threw = true;
    }
    CHECK(threw);
}

TEST_CASE("runtime: loops take turns, and each is one thread") {
    runtime_options options;
    options.threads = 3;
    runtime on(options);
    CHECK(on.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(&on.engine() != &on.at(i));
    const auto here = [](loop_thread& loop) -> awaitable<bool> {
        co_await turns(3);
        co_return loop.running_here();
    };
    for (int i = 0; i < 6; ++i) {
        loop_thread& loop = on.next();
        CHECK(&loop == &on.at(std::size_t(i) % 3));
        CHECK(!loop.running_here());
        CHECK(asio::co_spawn(loop.get_executor(), here(loop), asio::use_future).get());
    }
}

}  // namespace
}  // namespace cairn::test
