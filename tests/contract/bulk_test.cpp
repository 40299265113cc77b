// What every bulk engine promises (engines/bulk.hpp), over each engine and each io backend.
#include "engines/bulk.hpp"

#include "runtime/task_scope.hpp"
#include "tests/contract/engines.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/results.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace cairn {
namespace {

using test::manner;

#define BULKS                                                                 \
    test::memory_bulk_engine, test::segments_on_ring, test::segments_on_pool, \
        test::segments_in_memory, test::postgres_chunks, test::postgres_large_objects

template <class Engine>
result<std::unique_ptr<draft>> write(Engine& engine, buffer body, manner how = {}) {
    test::piecewise_source from(std::move(body), how);
    intake in(from, std::nullopt, UINT64_MAX);
    return engine.run(engine.bulk().write(in));
}

awaitable<result<std::string>> read_back(bulk& from, extent stored, byte_range range) {
    auto opened = co_await from.read(stored, range);
    if (!opened) co_return opened.error();
    CHECK((*opened)->size() == range.size_bytes);
    co_return co_await test::read_all(**opened);
}

template <class Engine>
std::string read(Engine& engine, const extent& stored, byte_range range) {
    return engine.run(read_back(engine.bulk(), stored, range)).value();
}

TEST_CASE_TEMPLATE("bulk: what was written is read back, whatever its size", Engine, BULKS) {
    Engine engine;
    for (const std::size_t size_bytes : {0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 200'000,
                                         1 << 20, (1 << 20) + 1, 3'000'000}) {
        CAPTURE(size_bytes);
        const buffer body = test::random_body(size_bytes, size_bytes);
        auto written = write(engine, body);
        REQUIRE(written);
        const extent stored = (*written)->stored();
        CHECK(stored.size_bytes == size_bytes);
        CHECK(stored.checksums_digest == checksums::of(body.view()).digest());
        const byte_range whole{0, size_bytes};
        CHECK(read(engine, stored, whole) == body.text());
        (*written)->decide();
    }
}

TEST_CASE_TEMPLATE("bulk: any range is read, across windows and spans", Engine, BULKS) {
    Engine engine;
    const buffer body = test::random_body(300'000, 1);
    auto written = write(engine, body);
    REQUIRE(written);
    std::mt19937_64 random(2);
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t offset = random() % 300'000;
        const std::uint64_t size_bytes = random() % (300'000 - offset) + 1;
        CAPTURE(offset);
        CAPTURE(size_bytes);
        const byte_range range{offset, size_bytes};
        const std::string part = read(engine, (*written)->stored(), range);
        CHECK(part == body.text().substr(offset, size_bytes));
    }
}

TEST_CASE_TEMPLATE("bulk: windows of any size make the same byte string", Engine, BULKS) {
    Engine engine;
    const buffer body = test::random_body(150'000, 1);
    for (const std::size_t piece_bytes : {1'000, 65'535, 4'096}) {
        for (const bool announces_size : {true, false}) {
            manner how;
            how.piece_bytes = piece_bytes;
            how.announces_size = announces_size;
            auto written = write(engine, body, how);
            REQUIRE(written);
            const byte_range whole{0, 150'000};
            CHECK(read(engine, (*written)->stored(), whole) == body.text());
        }
    }
}

TEST_CASE_TEMPLATE("bulk: two writes of the same bytes share nothing", Engine, BULKS) {
    Engine engine;
    const buffer body = test::random_body(10'000, 1);
    auto first = write(engine, body);
    auto second = write(engine, body);
    CHECK((*first)->stored().at != (*second)->stored().at);
}

TEST_CASE_TEMPLATE("bulk: a body that ends in an error is not written", Engine, BULKS) {
    Engine engine;
    for (const bool announces_size : {true, false}) {
        manner how;
        how.announces_size = announces_size;
        how.ends_with = error_code(errc::timed_out);
        how.ends_after_bytes = 70'000;
        const auto written = write(engine, test::random_body(100'000, 1), how);
        CHECK(written.error() == errc::timed_out);
    }
    const auto found = engine.run(engine.bulk().scan({}, UINT64_MAX, 10)).value();
    CHECK(found.empty());
}

TEST_CASE_TEMPLATE("bulk: a body shorter than it said is not written", Engine, BULKS) {
    Engine engine;
    manner how;
    how.ends_after_bytes = 70'000;
    const auto written = write(engine, test::random_body(100'000, 1), how);
    CHECK(written.error() == errc::short_body);
}

TEST_CASE_TEMPLATE("bulk: erased bytes are gone for who asks, whole or cut short for who reads",
                   Engine,
                   BULKS) {
    Engine engine;
    const buffer body = test::random_body(2'000'000, 1);  // alone in its container everywhere
    auto written = write(engine, body);
    REQUIRE(written);
    REQUIRE((*written)->alone());
    const extent stored = (*written)->stored();
    (*written)->decide();
    const byte_range whole{0, stored.size_bytes};
    auto reader = engine.run(engine.bulk().read(stored, whole)).value();
    CHECK(engine.run(engine.bulk().erase(stored.at)));
    CHECK(engine.run(engine.bulk().erase(stored.at)));  // absent is success
    CHECK(engine.run(read_back(engine.bulk(), stored, whole)).error() == errc::absent);
    const auto rest = engine.run(test::read_all(*reader));
    const bool was_cut = Engine::may_cut_readers && rest.error() == errc::absent;
    CHECK((was_cut || rest.value() == body.text()));
}

TEST_CASE_TEMPLATE("bulk: a locator with other checks than the row's is corrupt", Engine, BULKS) {
    Engine engine;
    auto written = write(engine, test::random_body(10'000, 1));
    extent other = (*written)->stored();
    other.checksums_digest ^= 1;
    const byte_range whole{0, other.size_bytes};
    CHECK(engine.run(read_back(engine.bulk(), other, whole)).error() == errc::corrupt);
}

TEST_CASE_TEMPLATE("bulk: a scan finds every record, in order and paged", Engine, BULKS) {
    Engine engine;
    std::vector<std::unique_ptr<draft>> kept;
    std::vector<locator> places;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::size_t size_bytes = seed % 5 == 0 ? 1'500'000 : 5'000;
        kept.push_back(write(engine, test::random_body(size_bytes, seed)).value());
        places.push_back(kept.back()->stored().at);
    }
    std::sort(places.begin(), places.end());
    std::vector<locator> found;
    while (true) {
        const locator after = found.empty() ? locator{} : found.back();
        const auto page = engine.run(engine.bulk().scan(after, UINT64_MAX, 7)).value();
        for (const found_record& each : page) found.push_back(each.stored.at);
        if (page.size() < 7) break;
    }
    CHECK(found == places);
    const auto first = engine.run(engine.bulk().scan({}, UINT64_MAX, 1)).value();
    REQUIRE(first.size() == 1);
    const auto same = std::find_if(kept.begin(), kept.end(), [&first](const auto& each) {
        return each->stored().at == first[0].stored.at;
    });
    CHECK((*same)->stored().checksums_digest == first[0].stored.checksums_digest);
    const std::uint64_t last = places[10].container;
    const auto is_up_to = [last](const locator& each) { return each.container <= last; };
    const auto some = engine.run(engine.bulk().scan({}, last, SIZE_MAX)).value();
    CHECK(some.size() == std::size_t(std::count_if(places.begin(), places.end(), is_up_to)));
    CHECK((*same)->stored().size_bytes == first[0].stored.size_bytes);
}

using drafts = std::vector<std::unique_ptr<draft>>;

awaitable<void> write_many(bulk& to, std::uint64_t first, drafts& kept) {
    for (std::uint64_t seed = first; seed < first + 10; ++seed) {
        test::piecewise_source from(test::random_body(20'000 + seed, seed));
        intake in(from, std::nullopt, UINT64_MAX);
        auto written = co_await to.write(in);
        kept[seed] = std::move(written).value();
    }
}

awaitable<void> write_concurrently(bulk& to, drafts& kept) {
    const executor here = co_await asio::this_coro::executor;
    task_scope callers(here);
    for (std::uint64_t i = 0; i < 32; ++i) callers.spawn(write_many(to, i * 10, kept));
    co_await callers.join();
}

TEST_CASE_TEMPLATE("bulk: many writers at once do not disturb each other", Engine, BULKS) {
    Engine engine;
    drafts kept(320);  // undecided bytes stay for as long as their draft does
    engine.run(write_concurrently(engine.bulk(), kept));
    for (std::uint64_t seed = 0; seed < 320; seed += 7) {
        const extent& stored = kept[seed]->stored();
        const byte_range whole{0, stored.size_bytes};
        const buffer body = test::random_body(20'000 + seed, seed);
        CHECK(read(engine, stored, whole) == body.text());
    }
}

}  // namespace
}  // namespace cairn
