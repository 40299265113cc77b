// Compaction, over segments on a disk and a catalog that forget what was not synced: what lives
// stays, what was removed comes back neither as a blob nor as space, and nobody is in its way.
#include "store/compactor.hpp"

#include "engines/segments/segments.hpp"
#include "io/memory_file_system.hpp"
#include "runtime/deadline.hpp"
#include "runtime/log.hpp"
#include "store/local_store.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/forgetful_catalog.hpp"
#include "tests/support/forwarding_catalog.hpp"
#include "tests/support/forwarding_files.hpp"
#include "tests/support/results.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <doctest/doctest.h>
#include <future>
#include <map>
#include <random>
#include <set>

namespace cairn {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using namespace cairn::test;

constexpr std::uint64_t segment_bytes = 512 << 10;
constexpr std::size_t blob_bytes = 10'000;  // 12 KiB with its footer
constexpr std::size_t in_a_segment = 42;    // of such records
constexpr std::uint64_t record_bytes = 12 << 10;

// What happens between a change's call and its commit, while the test looks on.
struct hooks {
    std::function<awaitable<void>(const change&)> before_commit;
};

class watched_catalog final : public forwarding_catalog {
public:
    watched_catalog(std::unique_ptr<catalog> real, const hooks& by)
        : forwarding_catalog(std::move(real)), by_(by) {}

    awaitable<result<applied>> commit(change what) override {
        if (by_.before_commit) co_await by_.before_commit(what);
        co_return co_await forwarding_catalog::commit(std::move(what));
    }

private:
    const hooks& by_;
};

// Which files have bytes that were not synced.
class watched_files final : public forwarding_file_system {
public:
    using forwarding_file_system::forwarding_file_system;

    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override {
        const std::string name = path.filename().string();
        auto opened = co_await forwarding_file_system::open(std::move(path), mode);
        if (!opened) co_return opened.error();
        co_return std::make_shared<watched_file>(std::move(*opened), *this, name);
    }
    bool is_unsynced(std::uint64_t segment) {
        const std::string name =
            std::to_string(segment >> 32) + "-" + std::to_string(segment & UINT32_MAX);
        std::lock_guard lock(mutex_);
        return unsynced_.contains(name);
    }

private:
    class watched_file final : public forwarding_file {
    public:
        watched_file(std::shared_ptr<file> real, watched_files& owner, std::string name)
            : forwarding_file(std::move(real)), owner_(owner), name_(std::move(name)) {}
        awaitable<result<void>> write_at(std::uint64_t offset,
                                         std::vector<buffer> pieces) override {
            owner_.mark(name_);
            return forwarding_file::write_at(offset, std::move(pieces));
        }
        awaitable<result<void>> sync(byte_range written) override {
            auto synced = co_await forwarding_file::sync(written);
            owner_.unmark(name_);
            co_return synced;
        }

    private:
        watched_files& owner_;
        const std::string name_;
    };

    void mark(const std::string& name) {
        std::lock_guard lock(mutex_);
        unsynced_.insert(name);
    }
    void unmark(const std::string& name) {
        std::lock_guard lock(mutex_);
        unsynced_.erase(name);
    }

    std::mutex mutex_;
    std::set<std::string> unsynced_;
};

compaction_options quick() {
    compaction_options options;
    options.look_every = 1ms;
    options.pause = 2ms;
    options.time_share = 1;
    options.bytes_per_second = 1e12;
    options.load_puts = 1000;
    return options;
}

compaction_options never() {
    compaction_options options;
    options.look_every = 1h;
    return options;
}

class fixture {
public:
    explicit fixture(compaction_options options = quick()) : compaction(options) { open(); }
    ~fixture() { close(); }

    void open() {
        local_store::parts parts;
        parts.stop = std::make_unique<fail_stop>();
        auto forgetful = std::make_unique<test::forgetful_catalog>(history, threads);
        parts.catalog = std::make_unique<watched_catalog>(std::move(forgetful), hook);
        rows = parts.catalog.get();
        segments_options small;
        small.segment_bytes = segment_bytes;
        small.shared_record_bytes_max = 128 << 10;
        parts.bulk =
            run(segments::open(threads, files, "/segments", *rows, *parts.stop, small)).value();
        local_store_options options;
        options.inline_bytes_max = 0;
        options.compaction = compaction;
        store = run(local_store::open(threads, std::move(parts), options));
    }
    void close() {
        if (store) run(store->close());
        store.reset();
    }
    void reopen(compaction_options options) {
        close();
        compaction = options;
        open();
    }
    void crash(std::uint64_t seed) {
        disk.crash(seed);
        history.crash(seed);
        close();
        open();
    }

    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }
    result<receipt> put(const buffer& body) {
        piecewise_source from(body);
        return run(store->put(from, std::nullopt));
    }
    void put_all(std::uint64_t first, std::uint64_t count) {
        for (std::uint64_t seed = first; seed < first + count; ++seed) put(body(seed)).value();
    }
    // All but each third, so that every segment is dead by more than half.
    void thin_out(std::uint64_t first, std::uint64_t count) {
        for (std::uint64_t seed = first; seed < first + count; ++seed) {
            if (seed % 3 != 0) CHECK(removed(seed));
        }
    }
    bool removed(std::uint64_t seed) { return run(store->remove(id(seed))).value(); }
    bool has(std::uint64_t seed) {
        const byte_range whole;
        auto opened = run(store->get(id(seed), whole)).value();
        if (!opened) return false;
        CHECK((run(test::read_all(*opened)).value() == body(seed).text()));
        return true;
    }
    void check_thinned(std::uint64_t first, std::uint64_t count) {
        for (std::uint64_t seed = first; seed < first + count; ++seed) {
            CAPTURE(seed);
            CHECK(has(seed) == (seed % 3 == 0));
        }
    }
    static buffer body(std::uint64_t seed) { return test::random_body(blob_bytes, seed); }
    static blob_id id(std::uint64_t seed) { return blob_id::of(body(seed).view()); }

    std::optional<locator> place(std::uint64_t seed) {
        const auto found = run(rows->find(id(seed))).value();
        return found ? found->where : std::nullopt;
    }
    store_status status() { return run(store->status()).value(); }
    std::uint64_t moved() {
        return threads.metrics()
            .get_counter("cairn_compaction_blobs_total", "", {{"outcome", "moved"}})
            .value();
    }
    bool shows(const std::string& metric) {
        return threads.metrics().expose().find(metric + "\n") != std::string::npos;
    }
    std::size_t half_dead() {
        std::size_t count = 0;
        for (const segment_row& each : run(rows->segments(0, 1000, false)).value()) {
            if (each.sealed && each.live_bytes * 2 <= each.end_bytes) ++count;
        }
        return count;
    }
    template <class Condition>
    bool eventually(Condition holds) {
        for (int i = 0; i < 2000; ++i) {
            if (holds()) return true;
            run(sleep_for(2ms));
        }
        return false;
    }
    bool settles() {
        return eventually([&] { return half_dead() == 0 && status().reclaim_count == 0; });
    }

    compaction_options compaction;
    runtime threads{{.threads = 2, .blocking_threads = 1}};
    memory_file_system disk;
    watched_files files{disk};
    test::commit_history history;
    hooks hook;
    catalog* rows = nullptr;
    std::unique_ptr<local_store> store;
};

// A put that is under way until the test lets it end.
class held_put {
public:
    held_put(fixture& in, std::uint64_t seed) : body_(fixture::body(seed)), source_(*this) {
        done_ = asio::co_spawn(in.threads.next().get_executor(),
                               in.store->put(source_, std::nullopt), asio::use_future);
    }
    ~held_put() { end(); }
    void end() {
        if (!done_.valid()) return;
        (void)gate_.try_push(std::monostate());
        CHECK(done_.get());
    }

private:
    class held_source final : public source {
    public:
        explicit held_source(held_put& owner) : owner_(owner), inner_(owner.body_) {}
        std::optional<std::uint64_t> size() const override { return inner_.size(); }
        awaitable<result<buffer>> next() override {
            auto window = co_await inner_.next();
            if (window && window->empty()) (void)co_await owner_.gate_.pop();
            co_return window;
        }

    private:
        held_put& owner_;
        piecewise_source inner_;
    };

    const buffer body_;
    channel<std::monostate> gate_{1};
    held_source source_;
    std::future<result<receipt>> done_;
};

TEST_CASE("compaction: half-dead segments come back, and every blob stays readable") {
    fixture test(never());
    test.put_all(0, 6 * in_a_segment);
    test.thin_out(0, 6 * in_a_segment);
    const store_status before = test.status();
    CHECK(before.bulk_dead_bytes == 4 * in_a_segment * record_bytes);
    test.reopen(quick());
    CHECK(test.settles());
    const store_status after = test.status();
    CHECK(after.bulk_live_bytes == before.bulk_live_bytes);
    CHECK(after.bulk_dead_bytes == 0);
    CHECK(after.segment_count < before.segment_count);
    CHECK(test.run(test.disk.list("/segments")).value().size() == after.segment_count);
    CHECK(test.moved() == 2 * in_a_segment);
    CHECK(test.shows("cairn_compaction_segments_total 6"));
    CHECK(test.shows("cairn_compaction_copied_bytes_total " +
                     std::to_string(2 * in_a_segment * record_bytes)));
    test.check_thinned(0, 6 * in_a_segment);
    test.reopen(quick());
    test.check_thinned(0, 6 * in_a_segment);
}

TEST_CASE("compaction: a segment that is less than half dead is left as it is") {
    fixture test(never());
    test.put_all(0, 2 * in_a_segment);
    for (std::uint64_t seed = 0; seed < 2 * in_a_segment; seed += 3) CHECK(test.removed(seed));
    test.reopen(quick());
    test.run(sleep_for(30ms));
    CHECK(test.moved() == 0);
    CHECK(test.half_dead() == 0);
}

TEST_CASE("compaction: a copy is synced before its row moves (R4.3)") {
    compaction_options one_by_one = quick();
    one_by_one.copies_at_once = 1;
    fixture test(one_by_one);
    std::atomic<int> moves{0}, too_early{0};
    test.hook.before_commit = [&](const change& what) -> awaitable<void> {
        const auto* move = std::get_if<move_blob>(&what);
        if (move == nullptr) co_return;
        ++moves;
        if (test.files.is_unsynced(move->to.container)) ++too_early;
    };
    test.put_all(0, 2 * in_a_segment);
    test.thin_out(0, 2 * in_a_segment);
    test.put_all(1000, 1);  // the second segment is full
    CHECK(test.settles());
    CHECK(moves > 0);
    CHECK(too_early == 0);
    test.hook.before_commit = nullptr;
}

// What somebody else does to the blob between its copy and its row's move.
void interfere(fixture& test, const std::function<awaitable<void>(const move_blob&)>& with) {
    std::atomic<bool> done{false};
    test.hook.before_commit = [&](const change& what) -> awaitable<void> {
        const auto* move = std::get_if<move_blob>(&what);
        if (move == nullptr || done.exchange(true)) co_return;
        co_await with(*move);
    };
    test.put_all(0, in_a_segment);
    test.thin_out(0, in_a_segment);
    test.put_all(1000, 1);
    CHECK(test.eventually([&] { return done.load(); }));
    CHECK(test.settles());
    CHECK(test.shows("cairn_compaction_blobs_total{outcome=\"gone\"} 1"));
}

TEST_CASE("compaction: a blob that is removed while it is copied stays removed (R4.3)") {
    fixture test;
    blob_id id;
    const std::function<awaitable<void>(const move_blob&)> remove =
        [&](const move_blob& move) -> awaitable<void> {
        id = move.id;
        const auto removed = co_await test.store->remove(id);
        CHECK(removed.value());
    };
    interfere(test, remove);
    CHECK_FALSE(test.run(test.rows->find(id)).value());
    const byte_range whole;
    CHECK(test.run(test.store->get(id, whole)).value() == nullptr);
    test.crash(1);
    CHECK(test.run(test.store->get(id, whole)).value() == nullptr);
}

TEST_CASE("compaction: a blob that is healed while it is copied keeps the bytes that healed it") {
    fixture test;
    std::optional<locator> healed_at, copied_to;
    blob_id id;
    const std::function<awaitable<void>(const move_blob&)> heal =
        [&](const move_blob& move) -> awaitable<void> {
        id = move.id;
        copied_to = move.to;
        const change suspicion = quarantine_blob{id, move.from, "test"};
        const auto suspected = co_await test.rows->commit(suspicion);
        CHECK(suspected.value().changed);
        std::uint64_t seed = 0;
        while (fixture::id(seed) != id) ++seed;
        piecewise_source again(fixture::body(seed));
        const auto put = co_await test.store->put(again, std::nullopt);
        CHECK(put.value().created);
        const auto row = co_await test.rows->find(id);
        healed_at = row.value()->where;
    };
    interfere(test, heal);
    CHECK(test.run(test.rows->find(id)).value()->where == healed_at);
    CHECK(healed_at != copied_to);
    const byte_range whole;
    const auto opened = test.run(test.store->get(id, whole)).value();
    CHECK(test.run(test::read_all(*opened)).has_value());
}

TEST_CASE("compaction: who reads the old place reads on, who comes late finds the new one") {
    fixture test(never());
    const buffer large = test::random_body(100'000, 7);
    const blob_id id = test.put(large).value().id;
    test.put_all(0, in_a_segment);
    for (std::uint64_t seed = 0; seed < in_a_segment; ++seed) CHECK(test.removed(seed));
    test.reopen(quick());
    const byte_range whole;
    const auto reader = test.run(test.store->get(id, whole)).value();
    const auto late = test.run(test.store->get(id, whole)).value();
    std::string read(test.run(reader->next()).value().text());
    CHECK(test.settles());
    CHECK(test.moved() == 1);
    read += test.run(test::read_all(*reader)).value();
    CHECK((read == large.text()));
    CHECK((test.run(test::read_all(*late)).value() == large.text()));
    const auto after = test.run(test.store->get(id, whole)).value();
    CHECK((test.run(test::read_all(*after)).value() == large.text()));
}

TEST_CASE("compaction: a segment with an undecided record is not taken (R2.4)") {
    fixture test;
    channel<std::monostate> gate(1);
    const blob_id slow = fixture::id(500);
    test.hook.before_commit = [&](const change& what) -> awaitable<void> {
        const auto* put = std::get_if<put_blob>(&what);
        if (put != nullptr && put->id == slow) (void)co_await gate.pop();
    };
    const buffer body = fixture::body(500);
    piecewise_source from(body);
    test.put_all(0, 1);
    auto put = asio::co_spawn(test.threads.next().get_executor(),
                              test.store->put(from, std::nullopt), asio::use_future);
    test.run(sleep_for(20ms));
    test.put_all(1, in_a_segment);  // the first segment is full
    for (std::uint64_t seed = 1; seed < in_a_segment; ++seed) CHECK(test.removed(seed));
    test.run(sleep_for(30ms));
    CHECK(test.moved() == 0);
    CHECK(gate.try_push(std::monostate()));
    CHECK(put.get().value().created);
    test.hook.before_commit = nullptr;
    CHECK(test.eventually([&] { return test.moved() > 0; }));  // sealed by now
    CHECK(test.settles());
    CHECK(test.has(500));
}

TEST_CASE("compaction: it waits while the store is under load, but not when most of it is dead") {
    compaction_options options = quick();
    options.load_puts = 0;  // one put is load
    fixture test(never());
    test.put_all(0, 2 * in_a_segment);     // will be half dead
    test.put_all(1000, 4 * in_a_segment);  // live
    test.thin_out(0, 2 * in_a_segment);
    test.reopen(options);
    held_put load(test, 500);
    CHECK(test.eventually([&] { return !test.shows("cairn_compaction_paused_seconds 0"); }));
    const std::uint64_t moved_before = test.moved();  // in the moment before the put began
    test.run(sleep_for(20ms));
    CHECK(test.moved() == moved_before);
    CHECK(test.half_dead() > 0);
    SUBCASE("until the load is gone") { load.end(); }
    SUBCASE("until more is dead than lives") {
        for (std::uint64_t seed = 1000; seed < 1000 + 4 * in_a_segment; ++seed) {
            if (seed % 3 != 0) CHECK(test.removed(seed));
        }
    }
    CHECK(test.eventually([&] { return test.moved() > moved_before; }));
    load.end();
    CHECK(test.settles());
}

TEST_CASE("compaction: it does not wait when there is no room (R4.3)") {
    compaction_options options = quick();
    options.load_puts = 0;
    options.look_every = 20ms;  // the put below comes first
    fixture test(never());
    test.put_all(0, 2 * in_a_segment);
    test.put_all(1000, 4 * in_a_segment);
    test.thin_out(0, 2 * in_a_segment);
    test.reopen(options);
    test.history.refuse_puts(true);
    CHECK(test.put(fixture::body(600)).error() == errc::no_space);
    test.history.refuse_puts(false);
    const held_put load(test, 500);
    CHECK(test.settles());
    CHECK(test.shows("cairn_compaction_paused_seconds 0"));
}

TEST_CASE("compaction: it copies no faster than its rate") {
    compaction_options slow = quick();
    slow.copies_at_once = 2;
    slow.bytes_per_second = 2e6;
    fixture test(never());
    test.put_all(0, 2 * in_a_segment);
    test.thin_out(0, 2 * in_a_segment);
    test.reopen(slow);
    const auto began = clock::now();
    CHECK(test.settles());
    const std::uint64_t copied_bytes = test.moved() * record_bytes;
    const double most = std::chrono::duration<double>(clock::now() - began).count() * 2e6;
    CHECK(copied_bytes > 20 * record_bytes);
    CHECK(double(copied_bytes - 2 * record_bytes) <= most);
}

TEST_CASE("compaction: it works no longer than its share of the time") {
    compaction_options modest = quick();
    modest.copies_at_once = 4;
    modest.time_share = 0.1;
    fixture test(never());
    std::atomic<std::int64_t> worked_us{0};
    test.put_all(0, in_a_segment);
    test.put_all(1000, 3 * in_a_segment);  // more lives than is dead: no haste
    test.thin_out(0, in_a_segment);
    test.reopen(modest);
    test.hook.before_commit = [&](const change& what) -> awaitable<void> {
        if (!std::holds_alternative<move_blob>(what)) co_return;
        worked_us += 2'000 / 4;  // four at once
        co_await sleep_for(2ms);
    };
    const auto began = clock::now();
    CHECK(test.settles());
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - began);
    CHECK(test.moved() == in_a_segment / 3);
    CHECK(took.count() >= 5 * worked_us);  // ten times, but for the last rest
    test.hook.before_commit = nullptr;
}

TEST_CASE("compaction: closing in the middle leaves nothing behind, and the next start goes on") {
    compaction_options slow = quick();
    slow.copies_at_once = 4;
    slow.bytes_per_second = 1e6;
    fixture test(never());
    test.put_all(0, 4 * in_a_segment);
    test.thin_out(0, 4 * in_a_segment);
    test.reopen(slow);
    CHECK(test.eventually([&] { return test.moved() > 8; }));
    test.reopen(quick());
    const std::uint64_t moved_before = test.moved();
    CHECK(moved_before < 4 * in_a_segment / 3);
    CHECK(test.settles());
    CHECK(test.moved() == moved_before + (4 * in_a_segment / 3 - moved_before));
    CHECK(test.run(test.disk.list("/segments")).value().size() == test.status().segment_count);
    test.check_thinned(0, 4 * in_a_segment);
}

TEST_CASE("compaction: a bad record is quarantined, and its segment left alone until it changes") {
    fixture test(never());
    test.put_all(0, in_a_segment);
    test.thin_out(0, in_a_segment);
    const locator at = test.place(0).value();
    {
        const std::string name = "/segments/" + std::to_string(at.container >> 32) + "-" +
                                 std::to_string(at.container & UINT32_MAX);
        auto segment = test.run(test.disk.open(name, open_mode::read_write)).value();
        buffer wrong = buffer::allocate(100);
        std::memset(wrong.mutable_data(), 7, wrong.size());
        test.run(segment->write_at(at.offset + 50, wrong)).value();
        test.run(segment->sync()).value();
    }
    set_log_level(log_level::off);
    test.reopen(quick());
    CHECK(test.eventually([&] { return test.shows("cairn_compaction_left_alone_segments 1"); }));
    set_log_level(log_level::info);
    CHECK(test.status().quarantined_count == 1);
    CHECK(test.moved() == in_a_segment / 3 - 1);
    CHECK(test.place(0) == at);
    CHECK(test.put(fixture::body(0)).value().created);  // heals it
    CHECK(test.settles());
    CHECK(test.eventually([&] { return test.shows("cairn_compaction_left_alone_segments 0"); }));
    test.check_thinned(0, in_a_segment);
}

TEST_CASE("compaction: no power cut in it loses a blob or brings back one that was removed") {
    set_log_level(log_level::off);
    std::uint64_t moved = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(seed);
        fixture test;
        for (std::uint64_t boot = 0; boot < 2; ++boot) {
            const std::uint64_t first = boot * 3 * in_a_segment;
            test.put_all(first, 3 * in_a_segment);
            test.thin_out(first, 3 * in_a_segment);
            test.run(sleep_for(std::chrono::microseconds(seed * 7919 % 3000)));
            test.crash(seed * 2 + boot);
            test.check_thinned(0, first + 3 * in_a_segment);
        }
        moved += test.moved();
        CHECK(test.settles());
        test.check_thinned(0, 6 * in_a_segment);
    }
    CHECK(moved > 30);  // or nothing was tried
    set_log_level(log_level::info);
}

}  // namespace
}  // namespace cairn
