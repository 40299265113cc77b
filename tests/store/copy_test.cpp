// Copying between two stores in memory, one of which misbehaves where a test says so.
#include "store/copy.hpp"

#include "runtime/deadline.hpp"
#include "store/open_store.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/forwarding_store.hpp"
#include "tests/support/results.hpp"

#include <boost/asio/error.hpp>
#include <doctest/doctest.h>
#include <functional>
#include <map>
#include <utility>

namespace cairn {
namespace {

using test::forwarding_store;
using test::piecewise_source;
using namespace std::chrono_literals;

// A store in memory whose answers a test may replace.
class meddled_store final : public forwarding_store {
public:
    using forwarding_store::forwarding_store;
    using failing = std::function<error_code(const blob_id&)>;

    awaitable<result<receipt>> put(source& body, std::optional<blob_id> claim) override {
        ++puts;
        if (on_put) {
            if (const error_code ec = on_put(*claim)) co_return ec;
        }
        co_return co_await forwarding_store::put(body, claim);
    }
    awaitable<result<std::unique_ptr<source>>> get(blob_id id, byte_range range) override {
        most_at_once = std::max(most_at_once, ++at_once);
        const auto time = quick == id ? 0ms : slow;
        if (time.count() > 0) co_await sleep_for(time);
        --at_once;
        if (on_get) {
            if (const error_code ec = on_get(id)) co_return ec;
        }
        if (rotten == id) {
            test::manner rots;
            rots.ends_with = errc::corrupt;
            rots.ends_after_bytes = 10;
            co_return std::make_unique<piecewise_source>(test::random_body(100, 1), rots);
        }
        co_return co_await forwarding_store::get(id, range);
    }
    awaitable<result<std::vector<listed_blob>>> list(std::optional<blob_id> after,
                                                     std::size_t limit) override {
        if (lists_left-- == 0) co_return error_code(errc::timed_out);
        co_return co_await forwarding_store::list(after, limit);
    }

    failing on_put;
    failing on_get;
    std::optional<blob_id> rotten;
    std::chrono::milliseconds slow{0};  // how long a get takes
    std::optional<blob_id> quick;       // but for this one
    std::size_t lists_left = SIZE_MAX;
    std::size_t puts = 0;
    std::size_t at_once = 0;
    std::size_t most_at_once = 0;
};

class notes final : public copy_watcher {
public:
    void present(const listed_blob& blob) override { there.add(blob); }
    void moved(std::uint64_t bytes) override { moved_bytes += bytes; }
    void copied(const listed_blob& blob) override { done.add(blob); }
    void left_behind(const listed_blob& blob, const error_code& ec) override { left[blob.id] = ec; }
    void troubled(copy_side at, const error_code&, bool tries_again) override {
        where = at;
        ++(tries_again ? tried_again : ended);
    }

    blob_count there;
    blob_count done;
    std::uint64_t moved_bytes = 0;
    std::map<blob_id, error_code> left;
    std::optional<copy_side> where;
    std::size_t tried_again = 0;
    std::size_t ended = 0;
};

// Pages of three and waits that a test can afford.
copy_limits small_limits() {
    copy_limits limits;
    limits.in_flight = 4;
    limits.page_blobs = 3;
    limits.tries = 3;
    limits.first_wait = 1ms;
    return limits;
}

class fixture {
public:
    fixture() : near(run(open_memory_store(threads))), far(run(open_memory_store(threads))) {}
    ~fixture() {
        run(near->close());
        run(far->close());
    }

    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }
    listed_blob keep(store& in, std::size_t size_bytes, std::uint64_t seed) {
        piecewise_source body(test::random_body(size_bytes, seed));
        const receipt stored = run(in.put(body, std::nullopt)).value();
        return {stored.id, stored.size_bytes};
    }
    // `count` blobs of all sorts of sizes.
    std::vector<listed_blob> fill(store& in, std::size_t count, std::uint64_t seed) {
        static constexpr std::size_t sizes[] = {1, 1000, 70'000, 200'000};
        std::vector<listed_blob> all;
        for (std::size_t i = 0; i < count; ++i) all.push_back(keep(in, sizes[i % 4], seed + i));
        return all;
    }
    result<copy_report> copied(copy_limits limits = small_limits()) {
        return run(copy(from, to, watcher, limits));
    }
    comparison compared() { return run(compare(*near, *far, 3)).value(); }

    runtime threads{{.threads = 1, .blocking_threads = 1}};
    std::unique_ptr<store> near;
    std::unique_ptr<store> far;
    meddled_store from{*near};
    meddled_store to{*far};
    notes watcher;
};

TEST_CASE("copy: what one store has is in both, and copying again moves nothing") {
    fixture test;
    test.fill(*test.near, 20, 1);
    test.fill(*test.far, 6, 1);    // of which six are there already
    test.fill(*test.far, 5, 100);  // and five that only the other has
    CHECK_FALSE(test.compared().right_has_all());

    const copy_report done = test.copied().value();
    CHECK(done.present.blobs == 6);
    CHECK(done.copied.blobs == 14);
    CHECK(done.present.bytes + done.copied.bytes == 5 * (1 + 1000 + 70'000 + 200'000));
    CHECK(done.left_behind == 0);
    CHECK(done.vanished == 0);
    CHECK(test.watcher.there == done.present);
    CHECK(test.watcher.done == done.copied);
    CHECK(test.watcher.moved_bytes == done.copied.bytes);

    const comparison now = test.compared();
    CHECK(now.right_has_all());
    CHECK_FALSE(now.equal());
    CHECK(now.both.blobs == 20);
    CHECK(now.only_right.blobs == 5);

    const std::size_t puts = test.to.puts;
    const copy_report again = test.copied().value();
    CHECK(again.copied.blobs == 0);
    CHECK(again.present.blobs == 20);
    CHECK(test.to.puts == puts);
}

TEST_CASE("copy: an empty store is copied, and an empty blob too") {
    fixture test;
    CHECK(test.copied().value().copied.blobs == 0);
    CHECK(test.compared().equal());
    test.keep(*test.near, 0, 0);
    CHECK(test.copied().value().copied == blob_count{1, 0});
    CHECK(test.compared().equal());
}

TEST_CASE("compare: tells how many are on one side only, and names the first of them") {
    fixture test;
    test.fill(*test.near, 25, 1);
    test.fill(*test.far, 8, 1);
    test.fill(*test.far, 4, 100);
    const comparison found = test.compared();
    CHECK(found.both.blobs == 8);
    CHECK(found.only_left.blobs == 17);
    CHECK(found.only_right.blobs == 4);
    REQUIRE(found.missing.size() == comparison::examples_max);
    for (std::size_t i = 0; i < found.missing.size(); ++i) {
        CHECK_FALSE(test.run(test.far->hold(found.missing[i])).value());
        if (i > 0) CHECK(found.missing[i - 1] < found.missing[i]);
    }
}

TEST_CASE("copy: so many blobs are in flight at once, and no more") {
    fixture test;
    test.fill(*test.near, 30, 1);
    test.from.slow = 1ms;
    CHECK(test.copied().value().copied.blobs == 30);
    CHECK(test.from.most_at_once == 4);
}

TEST_CASE("copy: a blob whose bytes are bad is left behind and named, the others come over") {
    fixture test;
    const auto all = test.fill(*test.near, 10, 1);
    const blob_id known = all[3].id;
    test.from.rotten = all[7].id;  // noticed on its way
    test.from.on_get = [known](const blob_id& id) {
        return id == known ? error_code(errc::quarantined) : error_code();
    };
    const copy_report done = test.copied().value();
    CHECK(done.copied.blobs == 8);
    CHECK(done.left_behind == 2);
    CHECK(test.watcher.left.at(known) == errc::quarantined);
    CHECK(test.watcher.left.at(all[7].id) == errc::corrupt);
    CHECK(test.watcher.tried_again == 0);
    CHECK(test.compared().only_left.blobs == 2);
}

TEST_CASE("copy: a blob that the destination finds too large is left behind") {
    fixture test;
    const auto all = test.fill(*test.near, 4, 1);
    test.to.on_put = [&all](const blob_id& id) {
        return id == all[2].id ? error_code(errc::too_large) : error_code();
    };
    CHECK(test.copied().value().left_behind == 1);
    CHECK(test.watcher.left.at(all[2].id) == errc::too_large);
}

TEST_CASE("copy: what is removed after it was listed has vanished, which is no failure") {
    fixture test;
    const auto all = test.fill(*test.near, 3, 1);
    test.from.on_get = [&](const blob_id& id) {
        return id == all[1].id ? error_code(errc::absent) : error_code();
    };
    const copy_report done = test.copied().value();
    CHECK(done.copied.blobs == 2);
    CHECK(done.vanished == 1);
    CHECK(done.left_behind == 0);
}

TEST_CASE("copy: what may pass is tried again") {
    fixture test;
    test.fill(*test.near, 6, 1);
    std::map<blob_id, int> tries;
    test.to.on_put = [&tries](const blob_id& id) {
        return ++tries[id] < 3 ? error_code(errc::overloaded) : error_code();
    };
    CHECK(test.copied().value().copied.blobs == 6);
    CHECK(test.watcher.tried_again == 12);
    CHECK(test.compared().equal());
}

TEST_CASE("copy: a store that stays away ends it, and which one is told") {
    for (const copy_side away : {copy_side::from, copy_side::to}) {
        fixture test;
        test.fill(*test.near, 20, 1);
        meddled_store& broken = away == copy_side::from ? test.from : test.to;
        (away == copy_side::from ? broken.on_get : broken.on_put) = [](const blob_id&) {
            return error_code(asio::error::connection_refused);
        };
        CHECK(test.copied().error() == asio::error::connection_refused);
        CHECK(test.watcher.ended == 1);
        CHECK(test.watcher.where == away);
        CHECK(test.to.puts <= 4 * 3);
    }
}

TEST_CASE("copy: a full destination ends it at once, and the next copy does the rest") {
    fixture test;
    test.fill(*test.near, 20, 1);
    test.to.on_put = [&test](const blob_id&) {
        return test.to.puts > 7 ? error_code(errc::no_space) : error_code();
    };
    CHECK(test.copied().error() == errc::no_space);
    CHECK(test.watcher.tried_again == 0);
    CHECK(test.watcher.done.blobs == 7);
    CHECK(test.compared().both.blobs == 7);

    test.to.on_put = nullptr;
    const copy_report rest = test.copied().value();
    CHECK(rest.present.blobs == 7);
    CHECK(rest.copied.blobs == 13);
    CHECK(test.compared().equal());
}

TEST_CASE("copy: what is in flight is given up when a store ends the copy") {
    fixture test;
    const auto all = test.fill(*test.near, 4, 1);
    test.from.slow = 1h;
    test.from.quick = all[0].id;
    test.to.on_put = [](const blob_id&) { return error_code(errc::stopped); };
    CHECK(test.copied().error() == errc::stopped);
    CHECK(test.to.puts == 1);
}

TEST_CASE("copy: a list that fails ends it, and which one is told") {
    for (const copy_side away : {copy_side::from, copy_side::to}) {
        fixture test;
        test.fill(*test.near, 20, 1);
        test.fill(*test.far, 20, 1);
        (away == copy_side::from ? test.from : test.to).lists_left = 2;
        CHECK(test.copied().error() == errc::timed_out);
        CHECK(test.watcher.where == away);
        CHECK(test.run(compare(test.from, test.to, 3)).has_value());
    }
}

TEST_CASE("copy: cancelled, it gives up what is in flight and leaves whole blobs only") {
    fixture test;
    test.fill(*test.near, 200, 1);
    test.from.slow = 1ms;
    const auto work = [](fixture& in) -> awaitable<void> {
        const auto done = co_await copy(in.from, in.to, in.watcher, small_limits());
        CHECK_FALSE(done.has_value());
    };
    const auto soon = std::chrono::steady_clock::now() + 10ms;
    CHECK_FALSE(test.run(ended_before(soon, work(test))));
    CHECK(test.compared().both.blobs < 200);
    CHECK(test.compared().both == test.watcher.done);

    test.from.slow = 0ms;
    CHECK(test.copied().has_value());
    CHECK(test.compared().equal());
}

}  // namespace
}  // namespace cairn
