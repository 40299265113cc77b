// What every catalog promises (engines/catalog.hpp), over each engine.
#include "engines/catalog.hpp"

#include "engines/checksums.hpp"
#include "runtime/task_scope.hpp"
#include "tests/contract/engines.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/results.hpp"

#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>
#include <memory>
#include <set>

namespace cairn {
namespace {

put_blob inline_put(std::uint64_t seed, std::size_t size_bytes = 100) {
    put_blob put;
    put.value = test::random_body(size_bytes, seed);
    put.id = blob_id::of(put.value.view());
    put.size_bytes = size_bytes;
    put.checksums_digest = checksums::of(put.value.view()).digest();
    return put;
}

put_blob bulk_put(std::uint64_t seed, locator where, bool alone = false) {
    put_blob put = inline_put(seed, 5000);
    put.value = buffer();
    put.where = where;
    put.alone = alone;
    return put;
}

template <class Engine>
applied commit(Engine& engine, change what) {
    return engine.run(engine.rows().commit(std::move(what))).value();
}

template <class Engine>
std::optional<row> find(Engine& engine, const blob_id& id) {
    return engine.run(engine.rows().find(id)).value();
}

template <class Engine>
std::vector<locator> reclaimable(Engine& engine) {
    return engine.run(engine.rows().reclaimable(100)).value();
}

template <class Engine>
std::vector<segment_row> segments_of(Engine& engine, bool only_unsealed = false) {
    return engine.run(engine.rows().segments(0, 100, only_unsealed)).value();
}

template <class Engine>
catalog_counts counts_of(Engine& engine) {
    return engine.run(engine.rows().count()).value();
}

#define CATALOGS test::memory_catalog_engine, test::sqlite_engine, test::postgres_engine

TEST_CASE_TEMPLATE("catalog: a put blob is found with everything that was put", Engine, CATALOGS) {
    Engine engine;
    const put_blob put = inline_put(1);
    const applied done = commit(engine, put);
    CHECK(done.changed);
    const auto found = find(engine, put.id);
    REQUIRE(found);
    CHECK(found->id == put.id);
    CHECK(found->size_bytes == put.size_bytes);
    CHECK(found->value.text() == put.value.text());
    CHECK(found->checksums_digest == put.checksums_digest);
    CHECK_FALSE(found->where);
    CHECK_FALSE(found->quarantined);
    CHECK(found->created_at_us > 1'600'000'000'000'000);
}

TEST_CASE_TEMPLATE("catalog: an empty blob is a blob", Engine, CATALOGS) {
    Engine engine;
    const put_blob put = inline_put(1, 0);
    CHECK(commit(engine, put).changed);
    const auto found = find(engine, put.id);
    REQUIRE(found);
    CHECK(found->size_bytes == 0);
    CHECK_FALSE(found->where);
    CHECK(found->value.empty());
}

TEST_CASE_TEMPLATE("catalog: absent is a value", Engine, CATALOGS) {
    Engine engine;
    CHECK_FALSE(find(engine, inline_put(1).id));
    CHECK_FALSE(commit(engine, remove_blob{inline_put(1).id}).changed);
}

TEST_CASE_TEMPLATE("catalog: the second put of a blob loses and learns which row stands",
                   Engine,
                   CATALOGS) {
    Engine engine;
    commit(engine, inline_put(1));
    const applied again = commit(engine, inline_put(1));
    CHECK_FALSE(again.changed);
    REQUIRE(again.standing);
    CHECK(again.standing->size_bytes == 100);
    CHECK(counts_of(engine).blob_count == 1);
}

TEST_CASE_TEMPLATE("catalog: a put whose own locator stands has succeeded", Engine, CATALOGS) {
    Engine engine;
    const put_blob put = bulk_put(1, {7, 0, 8192});
    CHECK(commit(engine, put).changed);
    CHECK(commit(engine, put).changed);
    CHECK(reclaimable(engine).empty());
}

TEST_CASE_TEMPLATE("catalog: a removed blob is gone, and can be put again under a new seq",
                   Engine,
                   CATALOGS) {
    Engine engine;
    commit(engine, inline_put(1));
    const auto first = find(engine, inline_put(1).id);
    CHECK(commit(engine, remove_blob{first->id}).changed);
    CHECK_FALSE(find(engine, first->id));
    CHECK(counts_of(engine).blob_count == 0);
    CHECK(counts_of(engine).blob_bytes == 0);
    CHECK(commit(engine, inline_put(1)).changed);
    CHECK(find(engine, first->id)->seq > first->seq);
}

TEST_CASE_TEMPLATE("catalog: list is exactly the live set, in id order, paged", Engine, CATALOGS) {
    Engine engine;
    std::set<blob_id> live;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const put_blob put = inline_put(seed);
        commit(engine, put);
        live.insert(put.id);
    }
    const blob_id removed = inline_put(7).id;
    commit(engine, remove_blob{removed});
    live.erase(removed);
    std::vector<blob_id> listed;
    std::optional<blob_id> after;
    while (true) {
        const auto page = engine.run(engine.rows().list(after, 8)).value();
        for (const row& each : page) {
            listed.push_back(each.id);
            CHECK(each.value.empty());
            CHECK(each.size_bytes == 100);
        }
        if (page.size() < 8) break;
        after = page.back().id;
    }
    CHECK(listed == std::vector<blob_id>(live.begin(), live.end()));
}

TEST_CASE_TEMPLATE("catalog: the bytes of a removed blob outside segments go into reclaim",
                   Engine,
                   CATALOGS) {
    Engine engine;
    const locator where{7, 0, 8192};
    const put_blob put = bulk_put(1, where);
    commit(engine, put);
    const applied removed = commit(engine, remove_blob{put.id});
    CHECK(removed.freed);
    CHECK(reclaimable(engine) == std::vector<locator>{where});
    CHECK(commit(engine, forget_locator{where}).changed);
    CHECK(reclaimable(engine).empty());
    CHECK_FALSE(commit(engine, forget_locator{where}).changed);
}

TEST_CASE_TEMPLATE("catalog: the loser's own bytes go into reclaim, the winner's stay",
                   Engine,
                   CATALOGS) {
    Engine engine;
    const locator winner{7, 0, 8192};
    const locator loser{8, 0, 8192};
    commit(engine, bulk_put(1, winner));
    const applied lost = commit(engine, bulk_put(1, loser));
    CHECK_FALSE(lost.changed);
    CHECK(lost.standing->where == winner);
    CHECK(reclaimable(engine) == std::vector<locator>{loser});
}

TEST_CASE_TEMPLATE("catalog: a segment's live bytes and end follow its rows", Engine, CATALOGS) {
    Engine engine;
    commit(engine, open_segment{9});
    commit(engine, bulk_put(1, {9, 0, 8192}));
    commit(engine, bulk_put(2, {9, 8192, 8192}));
    REQUIRE(segments_of(engine).size() == 1);
    CHECK(segments_of(engine)[0].live_bytes == 16384);
    CHECK(segments_of(engine)[0].end_bytes == 16384);
    CHECK(segments_of(engine)[0].boot == engine.rows().boot());
    CHECK_FALSE(segments_of(engine)[0].sealed);
    commit(engine, remove_blob{bulk_put(1, {}).id});
    CHECK(segments_of(engine)[0].live_bytes == 8192);
    CHECK(segments_of(engine)[0].end_bytes == 16384);
    CHECK(counts_of(engine).live_bytes == 8192);
    CHECK(counts_of(engine).end_bytes == 16384);
}

TEST_CASE_TEMPLATE("catalog: a dead segment goes into reclaim as a whole, but only once sealed",
                   Engine,
                   CATALOGS) {
    Engine engine;
    commit(engine, open_segment{9});
    const put_blob put = bulk_put(1, {9, 0, 8192});
    commit(engine, put);
    CHECK_FALSE(commit(engine, remove_blob{put.id}).freed);
    CHECK(reclaimable(engine).empty());
    CHECK(commit(engine, seal_segment{9}).freed);
    CHECK(reclaimable(engine) == std::vector<locator>{{9, 0, 0}});
    commit(engine, forget_locator{{9, 0, 0}});
    CHECK(segments_of(engine).empty());
    CHECK(reclaimable(engine).empty());
}

TEST_CASE_TEMPLATE("catalog: the last removal from a sealed segment frees it", Engine, CATALOGS) {
    Engine engine;
    commit(engine, open_segment{9});
    const put_blob put = bulk_put(1, {9, 0, 8192});
    commit(engine, put);
    CHECK_FALSE(commit(engine, seal_segment{9}).freed);
    CHECK(segments_of(engine, true).empty());
    CHECK(commit(engine, remove_blob{put.id}).freed);
    CHECK(reclaimable(engine) == std::vector<locator>{{9, 0, 0}});
}

TEST_CASE_TEMPLATE("catalog: a put alone in its segment seals it, won or lost", Engine, CATALOGS) {
    Engine engine;
    commit(engine, open_segment{9});
    commit(engine, bulk_put(1, {9, 0, 8192}, true));
    CHECK(segments_of(engine)[0].sealed);
    CHECK(segments_of(engine)[0].live_bytes == 8192);
    commit(engine, open_segment{10});
    const applied lost = commit(engine, bulk_put(1, {10, 0, 8192}, true));
    CHECK_FALSE(lost.changed);
    CHECK(lost.freed);
    CHECK(reclaimable(engine) == std::vector<locator>{{10, 0, 0}});
    CHECK(segments_of(engine)[0].live_bytes == 8192);
}

TEST_CASE_TEMPLATE("catalog: a loser in a shared segment is dead space and nothing else",
                   Engine,
                   CATALOGS) {
    Engine engine;
    commit(engine, open_segment{9});
    commit(engine, bulk_put(1, {9, 0, 8192}));
    CHECK_FALSE(commit(engine, bulk_put(1, {9, 8192, 8192})).changed);
    CHECK(segments_of(engine)[0].live_bytes == 8192);
    CHECK(reclaimable(engine).empty());
}

TEST_CASE_TEMPLATE(
    "catalog: a replayed segment ends behind every put that was decided, won or lost",
    Engine,
    CATALOGS) {
    Engine engine;
    commit(engine, open_segment{9, 1});
    if (segments_of(engine)[0].replay_key == 0) return;  // this one syncs each commit
    commit(engine, bulk_put(1, {9, 0, 8192}));
    CHECK_FALSE(commit(engine, bulk_put(1, {9, 8192, 8192})).changed);
    CHECK(segments_of(engine)[0].end_bytes == 16384);
}

TEST_CASE_TEMPLATE("catalog: what was found in a segment is put when it is sealed, with it",
                   Engine,
                   CATALOGS) {
    Engine engine;
    commit(engine, open_segment{9, 1});
    if (segments_of(engine)[0].replay_key == 0) return;
    commit(engine, bulk_put(1, {9, 0, 8192}));
    const std::vector<put_blob> found{bulk_put(2, {9, 8192, 8192}), bulk_put(1, {9, 16384, 8192})};
    CHECK(commit(engine, seal_segment{9, found}).changed);
    CHECK(find(engine, bulk_put(2, {}).id)->where == locator{9, 8192, 8192});
    CHECK(find(engine, bulk_put(1, {}).id)->where == locator{9, 0, 8192});
    const segment_row sealed = segments_of(engine)[0];
    CHECK(sealed.sealed);
    CHECK(sealed.end_bytes == 24576);
    CHECK(sealed.live_bytes == 16384);
    CHECK(counts_of(engine).blob_count == 2);
}

TEST_CASE_TEMPLATE("catalog: a moved blob lies elsewhere, and nothing else of it has changed",
                   Engine,
                   CATALOGS) {
    Engine engine;
    commit(engine, open_segment{9});
    commit(engine, open_segment{10});
    const put_blob put = bulk_put(1, {9, 0, 8192});
    commit(engine, put);
    const row before = find(engine, put.id).value();
    CHECK(commit(engine, move_blob{put.id, {9, 0, 8192}, {10, 4096, 8192}}).changed);
    const row after = find(engine, put.id).value();
    CHECK(after.where == locator{10, 4096, 8192});
    CHECK(after.seq == before.seq);
    CHECK(after.created_at_us == before.created_at_us);
    CHECK(after.size_bytes == before.size_bytes);
    CHECK(after.checksums_digest == before.checksums_digest);
    CHECK(counts_of(engine).blob_count == 1);
    CHECK(segments_of(engine)[0].live_bytes == 0);
    CHECK(segments_of(engine)[0].end_bytes == 8192);
    CHECK(segments_of(engine)[1].live_bytes == 8192);
    CHECK(segments_of(engine)[1].end_bytes == 12288);
}

TEST_CASE_TEMPLATE("catalog: the last move out of a sealed segment frees it", Engine, CATALOGS) {
    Engine engine;
    commit(engine, open_segment{9});
    const put_blob put = bulk_put(1, {9, 0, 8192});
    commit(engine, put);
    commit(engine, seal_segment{9});
    commit(engine, open_segment{10});
    CHECK(commit(engine, move_blob{put.id, {9, 0, 8192}, {10, 0, 8192}}).freed);
    CHECK(reclaimable(engine) == std::vector<locator>{{9, 0, 0}});
}

TEST_CASE_TEMPLATE(
    "catalog: a blob that was removed, quarantined or moved meanwhile is not moved (R4.3)",
    Engine,
    CATALOGS) {
    Engine engine;
    const locator from{9, 0, 8192}, to{10, 0, 8192}, elsewhere{9, 8192, 8192};
    commit(engine, open_segment{9});
    commit(engine, open_segment{10});
    const put_blob put = bulk_put(1, from);
    std::optional<locator> stands;
    SUBCASE("it is absent") {}
    SUBCASE("another put of it stands") {
        stands = elsewhere;
        commit(engine, bulk_put(1, elsewhere));
    }
    SUBCASE("it is quarantined") {
        stands = from;
        commit(engine, put);
        commit(engine, quarantine_blob{put.id, from, "test"});
    }
    CHECK_FALSE(commit(engine, move_blob{put.id, from, to}).changed);
    CHECK(find(engine, put.id).has_value() == stands.has_value());
    if (stands) CHECK(find(engine, put.id)->where == stands);
    CHECK(segments_of(engine)[0].live_bytes == (stands ? 8192 : 0));
    CHECK(segments_of(engine)[1].live_bytes == 0);
    CHECK(reclaimable(engine).empty());
}

TEST_CASE_TEMPLATE("catalog: a move that is run again is its own success", Engine, CATALOGS) {
    Engine engine;
    commit(engine, open_segment{9});
    commit(engine, open_segment{10});
    const put_blob put = bulk_put(1, {9, 0, 8192});
    commit(engine, put);
    const change move = move_blob{put.id, {9, 0, 8192}, {10, 0, 8192}};
    CHECK(commit(engine, move).changed);
    CHECK(commit(engine, move).changed);
    CHECK(segments_of(engine)[0].live_bytes == 0);
    CHECK(segments_of(engine)[1].live_bytes == 8192);
}

TEST_CASE_TEMPLATE("catalog: a move to a segment of its own seals it, won or lost",
                   Engine,
                   CATALOGS) {
    Engine engine;
    const put_blob put = bulk_put(1, {9, 0, 8192});
    commit(engine, open_segment{9});
    commit(engine, put);
    commit(engine, open_segment{10});
    CHECK(commit(engine, move_blob{put.id, {9, 0, 8192}, {10, 0, 8192}, true}).changed);
    CHECK(segments_of(engine)[1].sealed);
    CHECK(reclaimable(engine).empty());
    commit(engine, open_segment{11});
    CHECK(commit(engine, move_blob{put.id, {9, 0, 8192}, {11, 0, 8192}, true}).freed);
    CHECK(reclaimable(engine) == std::vector<locator>{{11, 0, 0}});
}

TEST_CASE_TEMPLATE("catalog: sealing what is sealed or unknown changes nothing", Engine, CATALOGS) {
    Engine engine;
    CHECK_FALSE(commit(engine, seal_segment{77}).changed);
    CHECK(segments_of(engine).empty());
    CHECK(reclaimable(engine).empty());
}

TEST_CASE_TEMPLATE("catalog: a quarantined blob is out of the list, found, and removable",
                   Engine,
                   CATALOGS) {
    Engine engine;
    const locator where{7, 0, 8192};
    const put_blob put = bulk_put(1, where);
    commit(engine, put);
    CHECK(commit(engine, quarantine_blob{put.id, where, "test"}).changed);
    CHECK_FALSE(commit(engine, quarantine_blob{put.id, where, "test"}).changed);
    CHECK(find(engine, put.id)->quarantined);
    CHECK(engine.run(engine.rows().list(std::nullopt, 10)).value().empty());
    CHECK(counts_of(engine).quarantined_count == 1);
    CHECK(commit(engine, remove_blob{put.id}).changed);
    CHECK_FALSE(find(engine, put.id));
    CHECK(counts_of(engine).quarantined_count == 0);
}

TEST_CASE_TEMPLATE("catalog: only the locator that failed is quarantined", Engine, CATALOGS) {
    Engine engine;
    const put_blob put = bulk_put(1, {7, 0, 8192});
    commit(engine, put);
    const locator stale{6, 0, 8192};
    CHECK_FALSE(commit(engine, quarantine_blob{put.id, stale, "test"}).changed);
    CHECK_FALSE(find(engine, put.id)->quarantined);
}

TEST_CASE_TEMPLATE("catalog: an inline value that is good is not quarantined", Engine, CATALOGS) {
    Engine engine;
    commit(engine, inline_put(1));
    CHECK_FALSE(commit(engine, quarantine_blob{inline_put(1).id, std::nullopt, "test"}).changed);
    put_blob rotten = inline_put(2);
    rotten.value = test::random_body(100, 3);
    commit(engine, rotten);
    CHECK(commit(engine, quarantine_blob{rotten.id, std::nullopt, "test"}).changed);
}

TEST_CASE_TEMPLATE("catalog: a put heals a quarantined blob in one step, and drops the old bytes",
                   Engine,
                   CATALOGS) {
    Engine engine;
    const locator bad{7, 0, 8192};
    const locator good{8, 0, 8192};
    commit(engine, bulk_put(1, bad));
    commit(engine, quarantine_blob{bulk_put(1, bad).id, bad, "test"});
    const applied healed = commit(engine, bulk_put(1, good));
    CHECK(healed.changed);
    CHECK(healed.freed);
    const auto found = find(engine, bulk_put(1, good).id);
    CHECK_FALSE(found->quarantined);
    CHECK(found->where == good);
    CHECK(reclaimable(engine) == std::vector<locator>{bad});
    CHECK(counts_of(engine).blob_count == 1);
    CHECK(counts_of(engine).quarantined_count == 0);
}

TEST_CASE_TEMPLATE("catalog: numbers of 64 bits come back as they went in", Engine, CATALOGS) {
    Engine engine;
    put_blob put = inline_put(1);
    put.value = buffer();
    put.size_bytes = (std::uint64_t{1} << 40) + 1;
    put.checksums_digest = UINT64_MAX - 1;
    put.where = locator{UINT64_MAX - 2, std::uint64_t{1} << 62, (std::uint64_t{1} << 40) + 4096};
    commit(engine, put);
    const auto found = find(engine, put.id);
    CHECK(found->size_bytes == put.size_bytes);
    CHECK(found->checksums_digest == put.checksums_digest);
    CHECK(found->where == put.where);
}

awaitable<void> put_many(catalog& rows,
                         std::uint64_t first,
                         std::uint64_t count,
                         std::size_t& created) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const change put = inline_put(seed);
        auto done = co_await rows.commit(put);
        created += done.value().changed;
        // Read your writes: a look-up that begins after the answer sees the row.
        auto found = co_await rows.find(inline_put(seed).id);
        CHECK(found.value().has_value());
    }
}

awaitable<std::size_t> put_concurrently(catalog& rows) {
    const executor here = co_await asio::this_coro::executor;
    std::size_t created = 0;
    task_scope callers(here);
    for (std::uint64_t i = 0; i < 32; ++i) callers.spawn(put_many(rows, i % 16 * 20, 20, created));
    co_await callers.join();
    co_return created;
}

TEST_CASE_TEMPLATE("catalog: of concurrent puts of one blob exactly one creates it",
                   Engine,
                   CATALOGS) {
    Engine engine;
    CHECK(engine.run(put_concurrently(engine.rows())) == 320);
    CHECK(counts_of(engine).blob_count == 320);
    CHECK(counts_of(engine).blob_bytes == 32000);
}

}  // namespace
}  // namespace cairn
