// What it takes to lose a blob that was acknowledged: each test is an interleaving that would.
#include "engines/postgres/commit_batch.hpp"
#include "engines/postgres/sql_error.hpp"
#include "engines/postgres/upload.hpp"
#include "runtime/deadline.hpp"
#include "runtime/run_on.hpp"
#include "runtime/task_scope.hpp"
#include "tests/engines/postgres/member.hpp"
#include "tests/support/results.hpp"

#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <string>
#include <vector>

namespace cairn::postgres {
namespace {

using namespace std::chrono_literals;

awaitable<result<void>> write_all(upload& to, buffer body) {
    auto added = co_await to.add(body.view());
    if (!added) co_return added.error();
    const trailer end{blob_id::of(body.view()), body.size(), checksums::of(body.view()).digest()};
    co_return co_await to.finish(end);
}

awaitable<void> write_one(database& in, semaphore& budget, std::uint64_t number, int& done) {
    const std::uint64_t container = (in.boot() << 40) + 1000 + number;
    upload to(in, budget, container, chunk_place::row);
    auto written = co_await write_all(to, test::random_body(3'000'000, number));
    done += written.has_value();
}

awaitable<result<int>> write_at_once(database& in, semaphore& budget, std::uint64_t count) {
    const executor here = co_await asio::this_coro::executor;
    int done = 0;
    task_scope writers(here);
    for (std::uint64_t i = 0; i < count; ++i) writers.spawn(write_one(in, budget, i, done));
    const auto at = std::chrono::steady_clock::now() + 20s;
    while (writers.size() > 0 && std::chrono::steady_clock::now() < at) co_await sleep_for(10ms);
    writers.request_stop();
    co_await writers.join();
    co_return done;
}

TEST_CASE("postgres uploads: those that share too small a budget take turns, and none hangs") {
    shared_database on;
    const member owner(on.threads, on.url());
    semaphore budget(2 * chunk_bytes);
    CHECK(on.threads.run(write_at_once(*owner.in, budget, 4)).value() == 4);
    CHECK(on.sql("SELECT count(*), count(trailer), max(part) FROM cairn.chunks") == "48|4|11");
    CHECK(on.sql("SELECT min(part) FROM cairn.chunks WHERE trailer IS NOT NULL") == "11");
}

TEST_CASE("postgres uploads: one goes on although its first transaction was lost, not its second") {
    shared_database on;
    const member owner(on.threads, on.url());
    semaphore budget(100 * chunk_bytes);
    upload to(*owner.in, budget, (owner.in->boot() << 40) + 1, chunk_place::large_object);
    const buffer body = test::random_body(2 * chunk_bytes + 2, 1);
    const trailer end{blob_id::of(body.view()), body.size(), checksums::of(body.view()).digest()};
    link& over = owner.in->bytes((owner.in->boot() << 40) + 1).connection();
    {
        bare_session in_the_way(on.threads, on.url());
        REQUIRE(in_the_way.run("BEGIN").has_value());
        REQUIRE(in_the_way.run("LOCK TABLE cairn.reclaim IN SHARE MODE").has_value());
        const byte_view first = body.view().first(chunk_bytes + 1);
        REQUIRE(on.threads.run(to.add(first)).has_value());
        const std::string waits =
            "FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database()";
        REQUIRE(comes_true([&] { return on.sql("SELECT count(*) " + waits) == "1"; }));
        on.sql("SELECT pg_terminate_backend(pid) " + waits);
        REQUIRE(comes_true([&] {
            const link_status now = over.status();
            return now.connected && now.connects == 2;
        }));
    }
    const byte_view rest = body.view().subspan(chunk_bytes + 1);
    CHECK(on.threads.run(to.add(rest)).has_value());
    CHECK(comes_true([&] { return over.status().unanswered_segments == 0; }));
    CHECK(on.threads.run(to.finish(end)).has_value());
    CHECK(on.sql("SELECT count(*) FROM cairn.chunks") == "3");
}

TEST_CASE("postgres uploads: a number whose bytes are another's is not written to") {
    shared_database on;
    member owner(on.threads, on.url());
    const auto written = owner.write(300'000, 1);
    REQUIRE(owner.publish(*written, 300'000, 1).value().changed);
    semaphore budget(100 * chunk_bytes);
    upload again(*owner.in, budget, written->stored().at.container, chunk_place::row);
    const auto done = on.threads.run(write_all(again, test::random_body(300'000, 2)));
    CHECK(done.error() == errc::vanished);
    CHECK(on.sql("SELECT count(*) FROM cairn.reclaim") == "0");
}

TEST_CASE("postgres: a boot that a failover forgot is not given to another while it lives") {
    shared_database on;
    member owner(on.threads, on.url());
    on.sql("UPDATE cairn.meta SET boot = 0");
    on.sql("DELETE FROM cairn.totals WHERE boot <> 0");
    on.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()");
    REQUIRE(owner.commit(small_put(1)).has_value());
    const member other(on.threads, on.url());
    CHECK(other.in->boot() == owner.in->boot() + 1);
}

TEST_CASE("postgres batches: a removal that runs again spares what was put after it") {
    shared_database on;
    member owner(on.threads, on.url()), other(on.threads, on.url());
    const put_blob put = small_put(1);
    REQUIRE(owner.commit(put).has_value());
    std::vector<commit_batch::entry> entries;
    entries.push_back({.request = remove_blob{put.id}});
    const std::vector<std::optional<buffer>> none(1);
    commit_batch batch({owner.in->boot(), 0, 1'000'000}, entries, none);
    const lane::writing write = [&](segment& to) { batch.add_to(to); };
    // The answer to the first is lost; somebody sees that the blob is gone, and puts it.
    REQUIRE(on.threads.run(owner.in->commits().transact(write)).has_value());
    CHECK_FALSE(on.threads.run(other.rows->find(put.id)).value().has_value());
    REQUIRE(other.commit(put).value().changed);
    const auto again = on.threads.run(owner.in->commits().transact(write));
    REQUIRE(again.has_value());
    batch.read(*again);
    CHECK(entries[0].reply.value().changed);
    CHECK(on.threads.run(other.rows->find(put.id)).value().has_value());
}

awaitable<void> commit_into(catalog& rows, change what, result<applied>& to) {
    auto done = co_await rows.commit(std::move(what));
    to = std::move(done);
}

awaitable<void> commit_together(catalog& rows,
                                std::vector<change> all,
                                std::vector<result<applied>>& to) {
    const executor here = co_await asio::this_coro::executor;
    task_scope callers(here);
    for (std::size_t i = 0; i < all.size(); ++i) {
        callers.spawn(commit_into(rows, all[i], to[i]));
    }
    co_await callers.join();
}

// A put of an upload that there is not: it fails, and so does its batch.
put_blob lost_put(std::uint64_t boot) {
    put_blob put = small_put(99);
    put.value = buffer();
    put.where = locator{(boot << 40) + 4711, 0, 0};
    put.alone = true;
    return put;
}

TEST_CASE("postgres batches: the parts of one that falls apart are the same operations") {
    shared_database on;
    member owner(on.threads, on.url());
    // As if the whole batch had been committed once, and its answer lost.
    for (int entry = 0; entry < 3; ++entry) {
        on.sql(
            fmt::format("INSERT INTO cairn.operations VALUES (int8send({}) || int8send(0) ||"
                        " int8send(1) || int8send({}), 1, cairn.now_us())",
                        owner.in->boot(), entry));
    }
    const std::vector<change> all = {lost_put(owner.in->boot()), remove_blob{small_put(1).id},
                                     remove_blob{small_put(2).id}};
    std::vector<result<applied>> told(3, error_code(errc::unanswered));
    // On the writer's own thread: then they are one batch.
    on.threads.run(run_on(owner.in->commits_home(), commit_together(*owner.rows, all, told)));
    CHECK(owner.rows->commit_counts().entries > 3);
    CHECK(told[0].error() == errc::vanished);
    CHECK(told[1].value().changed);
    CHECK(told[2].value().changed);
    // The next batch has a number of its own.
    CHECK_FALSE(owner.commit(remove_blob{small_put(1).id}).value().changed);
}

TEST_CASE("postgres uploads: bytes that a sweeper gave up are not forgotten by another") {
    shared_database on;
    member owner(on.threads, on.url()), other(on.threads, on.url());
    const auto written = owner.write(300'000, 1);
    const std::uint64_t container = written->stored().at.container;
    REQUIRE(owner.publish(*written, 300'000, 1).value().changed);
    REQUIRE(owner.commit(remove_blob{blob_id::of(test::random_body(300'000, 1).view())})
                .value()
                .changed);
    bare_session sweeper(on.threads, on.url());
    REQUIRE(sweeper.run("BEGIN").has_value());
    REQUIRE(sweeper.run(fmt::format("SELECT cairn.claim_bytes(99, {}, 0)", container)).has_value());
    CHECK(other.erase(*written).has_value());  // leaves it to the sweeper, which does not live on
    REQUIRE(sweeper.run("ROLLBACK").has_value());
    REQUIRE(other.commit(forget_locator{written->stored().at}).has_value());
    CHECK(on.threads.run(other.rows->reclaimable(10)).value() ==
          std::vector<locator>{written->stored().at});
    CHECK(other.erase(*written).has_value());
    CHECK(on.sql("SELECT count(*) FROM cairn.chunks") == "0");
    CHECK(on.sql("SELECT count(*) FROM cairn.reclaim") == "0");
}

awaitable<void> find_into(catalog& rows, blob_id id, result<std::optional<row>>& to) {
    auto found = co_await rows.find(id);
    to = std::move(found);
}

awaitable<void> find_together(catalog& rows,
                              std::vector<blob_id> ids,
                              std::vector<result<std::optional<row>>>& to) {
    const executor here = co_await asio::this_coro::executor;
    task_scope callers(here);
    for (std::size_t i = 0; i < ids.size(); ++i) callers.spawn(find_into(rows, ids[i], to[i]));
    co_await callers.join();
}

TEST_CASE("postgres look-ups: a value that the server cannot read spoils nobody else's") {
    shared_database on;
    member owner(on.threads, on.url());
    std::vector<blob_id> ids;
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
        REQUIRE(owner.commit(small_put(seed)).has_value());
        ids.push_back(small_put(seed).id);
    }
    // As if its page were damaged.
    on.sql(
        "CREATE FUNCTION cairn.unreadable() RETURNS bytea LANGUAGE plpgsql VOLATILE AS $$"
        " BEGIN RAISE EXCEPTION 'damaged' USING ERRCODE = 'XX001'; END $$");
    on.sql("ALTER TABLE cairn.blobs RENAME TO stored");
    on.sql(
        fmt::format("CREATE VIEW cairn.blobs AS SELECT id, seq, size, created_at, checksums,"
                    " container, start, length, CASE WHEN id = '\\x{}' THEN cairn.unreadable()"
                    " ELSE value END AS value FROM cairn.stored",
                    ids[5].hex()));
    std::vector<result<std::optional<row>>> found(ids.size(), error_code(errc::unanswered));
    on.threads.run(find_together(*owner.rows, ids, found));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        CAPTURE(i);
        if (i == 5) {
            CHECK(found[i].error() == errc::corrupt);
        } else {
            CHECK(found[i].value().has_value());
        }
    }
}

TEST_CASE("postgres: bytes that the server lost are found to be, and not an error for ever") {
    shared_database on;
    member owner(on.threads, on.url(), chunk_place::large_object);
    const auto written = owner.write(600'000, 1);
    REQUIRE(owner.publish(*written, 600'000, 1).value().changed);
    on.sql("SELECT lo_unlink(oid) FROM pg_largeobject_metadata");
    const byte_range whole{0, 600'000};
    auto opened = on.threads.run(owner.bytes->read(written->stored(), whole));
    CHECK(on.threads.run((*opened)->next()).error() == errc::corrupt);
}

}  // namespace
}  // namespace cairn::postgres
