// The log as the commit of a put: power cuts over a catalog that loses every row it did not have to
// sync (engines/log_commits.hpp). What was acknowledged is there, what was removed stays removed.
#include "engines/segments/segments.hpp"
#include "io/memory_file_system.hpp"
#include "runtime/channel.hpp"
#include "runtime/deadline.hpp"
#include "runtime/log.hpp"
#include "runtime/task_scope.hpp"
#include "store/local_store.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/forgetful_catalog.hpp"
#include "tests/support/results.hpp"

#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>
#include <map>

namespace cairn {
namespace {

using test::piecewise_source;

// A store whose every blob lies in segments, on a disk and a catalog that forget.
class fixture {
public:
    fixture() { open(); }
    ~fixture() { close(); }

    void open() {
        local_store::parts parts;
        parts.stop = std::make_unique<fail_stop>();
        auto catalog = std::make_unique<test::forgetful_catalog>(history, threads);
        segments_options small;
        small.segment_bytes = 512 << 10;
        small.shared_record_bytes_max = 128 << 10;
        parts.bulk =
            run(segments::open(threads, disk, "/segments", *catalog, *parts.stop, small)).value();
        bulk = parts.bulk.get();
        parts.catalog = std::move(catalog);
        local_store_options options;
        options.inline_bytes_max = 0;
        store = run(local_store::open(threads, std::move(parts), options));
    }
    void close() {
        if (store) run(store->close());
        store.reset();
    }
    // How many commits were lost.
    std::size_t die(std::optional<std::uint64_t> seed = {}) {
        disk.crash(seed);
        const std::size_t lost = history.crash(seed);
        close();
        return lost;
    }
    std::size_t crash(std::optional<std::uint64_t> seed = {}) {
        const std::size_t lost = die(seed);
        open();
        return lost;
    }
    // What is left open is not sealed by the next start, nor by those after it.
    void seal_nothing() { disk.plan().add({.call = file_call::truncate, .sticky = true}); }

    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }
    result<receipt> put(const buffer& body) {
        piecewise_source from(body);
        return run(store->put(from, std::nullopt));
    }
    bool has(const buffer& body) {
        const byte_range whole;
        auto opened = run(store->get(blob_id::of(body.view()), whole)).value();
        if (!opened) return false;
        CHECK((run(test::read_all(*opened)).value() == body.text()));
        return true;
    }
    bool removed(const buffer& body) {
        return run(store->remove(blob_id::of(body.view()))).value();
    }

    runtime threads{{.threads = 2, .blocking_threads = 1}};
    memory_file_system disk;
    test::commit_history history;
    cairn::bulk* bulk = nullptr;
    std::unique_ptr<local_store> store;
};

TEST_CASE("log commit: a put is there after a power cut that took its row") {
    fixture test;
    const buffer body = test::random_body(10'000, 1);
    CHECK(test.put(body).value().created);
    CHECK(test.crash() == 1);
    CHECK(test.has(body));
    CHECK_FALSE(test.put(body).value().created);
    CHECK(test.crash() == 1);  // of the put that lost
    CHECK(test.has(body));
}

TEST_CASE("log commit: what was removed stays removed, also when it was put twice") {
    fixture test;
    const buffer body = test::random_body(10'000, 1);
    const buffer later = test::random_body(10'000, 2);
    test.put(body).value();
    CHECK_FALSE(test.put(body).value().created);  // its record lies behind the first one's
    CHECK(test.removed(body));
    test.put(later).value();
    test.crash();
    CHECK_FALSE(test.has(body));
    CHECK(test.has(later));
}

// A body that is complete, and whose end its caller waits for until the test lets go.
class held_source final : public source {
public:
    held_source(buffer body, channel<std::monostate>& gate)
        : inner_(std::move(body)), gate_(gate) {}
    std::optional<std::uint64_t> size() const override { return inner_.size(); }
    awaitable<result<buffer>> next() override {
        auto window = co_await inner_.next();
        if (window && window->empty()) (void)co_await gate_.pop();
        co_return window;
    }

private:
    piecewise_source inner_;
    channel<std::monostate>& gate_;
};

awaitable<void> put_held(store& to, buffer body, channel<std::monostate>& gate, bool& done) {
    held_source from(std::move(body), gate);
    const auto put = co_await to.put(from, std::nullopt);
    done = put.has_value();
}

awaitable<void> put_overtaken(store& to, buffer slow, buffer fast) {
    const executor here = co_await asio::this_coro::executor;
    channel<std::monostate> gate(1);
    bool done = false;
    task_scope callers(here);
    callers.spawn(put_held(to, std::move(slow), gate, done));
    co_await sleep_for(std::chrono::milliseconds(20));  // it has its place in the log
    piecewise_source from(std::move(fast));
    const auto put = co_await to.put(from, std::nullopt);
    CHECK(put.has_value());
    const blob_id nobody;
    const auto removed = co_await to.remove(nobody);  // is synced, and the fast one's row with it
    CHECK(removed.has_value());
    CHECK_FALSE(done);
    CHECK(gate.try_push(std::monostate()));
    co_await callers.join();
    CHECK(done);
}

TEST_CASE("log commit: a put that was overtaken is synced, since nobody looks for it") {
    fixture test;
    const buffer slow = test::random_body(10'000, 1);
    const buffer fast = test::random_body(10'000, 2);
    test.run(put_overtaken(*test.store, slow, fast));
    test.crash();
    CHECK(test.has(slow));
    CHECK(test.has(fast));
}

TEST_CASE("log commit: a record within a record is part of its body, and no blob") {
    fixture test;
    // The whole log so far, put into the log of another store at the very place it had.
    const buffer inner = test::random_body(10'000, 1);
    test.put(inner).value();
    const auto names = test.run(test.disk.list("/segments")).value();
    auto log = test.run(test.disk.open("/segments/" + names.front(), open_mode::read)).value();
    const buffer outer = test.run(log->read_at(0, 64 << 10)).value();
    fixture other;
    other.put(outer).value();
    CHECK(other.crash() == 1);
    CHECK(other.has(outer));
    CHECK_FALSE(other.has(inner));
}

TEST_CASE("log commit: a store that cannot put again what was acknowledged does not open") {
    fixture test;
    const buffer body = test::random_body(10'000, 1);
    test.put(body).value();
    test.die();
    test.seal_nothing();
    CHECK_THROWS(test.open());
    test.disk.plan().clear();
    test.open();
    CHECK(test.has(body));
}

TEST_CASE(
    "log commit: a log in which every row is known is sealed when it can be, and no obstacle") {
    fixture test;
    const buffer body = test::random_body(10'000, 1);
    test.put(body).value();
    test.removed(test::random_body(1, 2));  // is synced, and the row with it
    CHECK(test.die() == 0);
    test.seal_nothing();
    test.open();
    CHECK(test.has(body));
}

TEST_CASE("log commit: what was refused after its last byte does not come with the next start") {
    fixture test;
    const buffer body = test::random_body(10'000, 1);
    test.history.refuse_puts(true);
    CHECK(test.put(body).error() == errc::no_space);
    test.history.refuse_puts(false);
    test.crash();
    CHECK_FALSE(test.has(body));
}

TEST_CASE("log commit: a put whose answer was lost keeps its bytes, since its row may be durable") {
    fixture test;
    const buffer body = test::random_body(10'000, 1);
    test.put(test::random_body(10'000, 3)).value();  // the segment is there
    test.history.lose_answers(true);
    CHECK(test.put(body).error() == errc::outcome_unknown);
    test.history.lose_answers(false);
    test.removed(test::random_body(1, 2));  // is synced, and that row with it
    test.crash();
    CHECK_FALSE(test.put(body).value().created);
    CHECK(test.has(body));
}

awaitable<void> put_and_cancel(fixture& test, buffer body) {
    const executor here = co_await asio::this_coro::executor;
    bool done = false;
    channel<std::monostate> gate(1);
    CHECK(gate.try_push(std::monostate()));
    auto held_back = test.history.turn().try_acquire();
    REQUIRE(held_back.has_value());
    task_scope callers(here);
    callers.spawn(put_held(*test.store, std::move(body), gate, done));
    co_await sleep_for(std::chrono::milliseconds(20));  // it waits for its commit
    callers.request_stop();
    co_await callers.join();
    held_back.reset();
    CHECK_FALSE(done);
}

TEST_CASE(
    "log commit: a put that was cancelled before its commit does not come with the next start") {
    fixture test;
    const buffer body = test::random_body(10'000, 1);
    test.put(body).value();
    test.run(put_and_cancel(test, body));
    CHECK(test.removed(body));
    test.run(sleep_for(std::chrono::milliseconds(50)));  // it is unmade in the background
    test.crash();
    CHECK_FALSE(test.has(body));
}

TEST_CASE("log commit: a copy is not put again, since what it is of may be removed meanwhile") {
    fixture test;
    const buffer body = test::random_body(10'000, 1);
    piecewise_source from(body);
    intake in(from, std::nullopt, UINT64_MAX, intake_for::move);
    auto copied = test.run(test.bulk->write(in)).value();
    copied->leave();  // whole, durable, and its row has not moved
    copied.reset();
    test.crash();
    CHECK_FALSE(test.has(body));
}

enum class known { absent, present, either };

struct caller {
    std::uint64_t number = 0;
    std::map<std::uint64_t, known> blobs;  // by seed
};

buffer body_of(std::uint64_t seed) { return test::random_body(seed * 7919 % 40'000 + 1, seed); }

// Puts and removes until the power goes. What was under way then may have happened.
awaitable<void> use(store& of, caller& by, std::uint64_t seed) {
    std::mt19937_64 random(seed * 1000 + by.number);
    for (int i = 0; i < 60; ++i) {
        const std::uint64_t body_seed = by.number * 100 + random() % 6;
        const buffer body = body_of(body_seed);
        known& state = by.blobs[body_seed];
        const known before = state;
        state = known::either;
        if (random() % 3 != 0) {
            piecewise_source from(body);
            const auto put = co_await of.put(from, std::nullopt);
            if (!put) co_return;
            CHECK((before == known::either || put->created == (before == known::absent)));
            state = known::present;
        } else {
            const blob_id id = blob_id::of(body.view());
            const auto removed = co_await of.remove(id);
            if (!removed) co_return;
            CHECK((before == known::either || *removed == (before == known::present)));
            state = known::absent;
        }
    }
}

awaitable<void> use_and_cut(fixture& test, std::vector<caller>& callers, std::uint64_t seed) {
    const executor here = co_await asio::this_coro::executor;
    task_scope all(here);
    for (caller& each : callers) all.spawn(use(*test.store, each, seed));
    co_await sleep_for(std::chrono::microseconds(500 + seed * 7919 % 6000));
    test.disk.crash(seed);
    co_await all.join();
}

// What the next boot must show; what was under way may be either, and is known from then on.
void check(fixture& test, caller& by) {
    for (auto& [body_seed, state] : by.blobs) {
        CAPTURE(body_seed);
        const bool is_there = test.has(body_of(body_seed));
        CHECK((state == known::either || is_there == (state == known::present)));
        state = is_there ? known::present : known::absent;
    }
}

TEST_CASE("log commit: no power cut loses what was acknowledged, or brings back what was removed") {
    set_log_level(log_level::off);
    std::size_t lost_commits = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        fixture test;
        std::vector<caller> callers(8);
        for (std::size_t i = 0; i < callers.size(); ++i) callers[i].number = i + 1;
        for (std::uint64_t boot = 0; boot < 3; ++boot) {
            test.run(use_and_cut(test, callers, seed * 10 + boot));
            const bool some_survive = seed % 2 == 0;
            lost_commits += test.crash(some_survive ? std::optional(seed) : std::nullopt);
            for (caller& each : callers) check(test, each);
        }
    }
    CHECK(lost_commits > 10);  // or nothing was tried
    set_log_level(log_level::info);
}

}  // namespace
}  // namespace cairn
