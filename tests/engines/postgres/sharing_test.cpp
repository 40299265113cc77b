// What several processes on one database do to each other, and what a process does to itself when
// it comes back (SAFETY.md R1.5, R2.5, everywhere 4).
#include "engines/postgres/commit_batch.hpp"
#include "engines/postgres/sql_error.hpp"
#include "runtime/task_scope.hpp"
#include "tests/engines/postgres/member.hpp"
#include "tests/support/results.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cairn::postgres {
namespace {

using test::postgres_server;

TEST_CASE("postgres lanes: a new generation waits for the old transaction, then shuts it out") {
    shared_database on;
    const member owner(on.threads, on.url());
    const std::string lane = fmt::format("{}, 0", owner.in->boot());
    const std::string fence = fmt::format("SELECT cairn.begin_batch({}, 1, true, false)", lane);
    bare_session zombie(on.threads, on.url()), next(on.threads, on.url());
    REQUIRE(zombie.run("BEGIN").has_value());
    REQUIRE(zombie.run(fence).has_value());

    const std::string claim = fmt::format("SELECT cairn.claim_lane({})", lane);
    ticket claimed = next.start(claim.c_str());
    CHECK(comes_true([&] {
        return on.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") ==
               "1";
    }));
    REQUIRE(zombie.run("COMMIT").has_value());
    CHECK(next.wait(claimed).value().at(0).integer(0, 0) == 2);
    CHECK(zombie.run(fence).error() == sql_error("CA001"));
}

TEST_CASE("postgres lanes: commits go on after the backend was ended, under a new generation") {
    shared_database on;
    member owner(on.threads, on.url());
    REQUIRE(owner.commit(small_put(1)).has_value());
    const std::string generation = fmt::format(
        "SELECT generation FROM cairn.totals WHERE boot = {} AND lane = 0", owner.in->boot());
    CHECK(on.sql(generation) == "1");
    on.server.terminate_backends();
    CHECK(owner.commit(small_put(2)).value().changed);
    CHECK(on.sql(generation) == "2");
    CHECK(on.sql("SELECT count(*) FROM cairn.blobs") == "2");
}

TEST_CASE("postgres lanes: one that was folded away claims again, and the totals stay") {
    shared_database on;
    member owner(on.threads, on.url());
    REQUIRE(owner.commit(small_put(1)).has_value());
    on.sql("UPDATE cairn.totals SET used_at = 0 WHERE boot <> 0");
    const member newcomer(on.threads, on.url());
    CHECK(on.sql(fmt::format("SELECT count(*) FROM cairn.totals WHERE boot = {}",
                             owner.in->boot())) == "0");
    CHECK(on.sql("SELECT sum(blobs) FROM cairn.totals") == "1");
    CHECK(owner.commit(small_put(2)).value().changed);
    CHECK(on.threads.run(newcomer.rows->count()).value().blob_count == 2);
}

TEST_CASE("postgres batches: a removal that runs again still says that it removed") {
    shared_database on;
    member owner(on.threads, on.url());
    const put_blob put = small_put(1);
    REQUIRE(owner.commit(put).has_value());
    std::vector<commit_batch::entry> entries;
    entries.push_back({.request = remove_blob{put.id}});
    entries.push_back({.request = remove_blob{small_put(2).id}});
    const std::vector<std::optional<buffer>> none(2);
    // Of a batch number that is not the catalog's own.
    commit_batch batch({owner.in->boot(), 0, 1'000'000}, entries, none);
    const lane::writing write = [&](segment& to) { batch.add_to(to); };
    REQUIRE(on.threads.run(owner.in->commits().transact(write)).has_value());
    const auto again = on.threads.run(owner.in->commits().transact(write));
    batch.read(again.value());
    CHECK(entries[0].reply.value().changed);
    CHECK_FALSE(entries[1].reply.value().changed);
}

// The statements of a batch with the ids that they lock, as it would be sent.
std::vector<std::string> locks_of(std::vector<change> changes) {
    std::vector<commit_batch::entry> entries;
    for (change& each : changes) entries.push_back({.request = std::move(each)});
    const std::vector<std::optional<buffer>> none(entries.size());
    const commit_batch batch({1, 0, 1}, entries, none);
    segment work;
    batch.add_to(work);
    std::vector<std::string> locks;
    for (const segment::step& each : work.steps()) {
        const std::string name = each.what.name;
        const std::size_t id_place = name == "put_many" || name == "forget_operations" ? 0 : 2;
        locks.push_back(name + " " + to_hex(each.with.bytes(id_place)));
    }
    return locks;
}

TEST_CASE("postgres batches: rows are locked in one order, whatever the order of arrival") {
    std::vector<change> changes;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        changes.push_back(small_put(seed));
        changes.push_back(remove_blob{small_put(100 + seed).id});
        put_blob large = small_put(200 + seed);
        large.value = test::random_body(50'000, seed);
        changes.push_back(large);
    }
    const std::vector<std::string> locks = locks_of(changes);
    std::mt19937_64 random(1);
    for (int i = 0; i < 20; ++i) {
        std::ranges::shuffle(changes, random);
        CHECK(locks_of(changes) == locks);
    }
}

TEST_CASE("postgres batches: operations are forgotten by the lane's next removal") {
    shared_database on;
    member owner(on.threads, on.url());
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        REQUIRE(owner.commit(small_put(seed)).has_value());
        CHECK(owner.commit(remove_blob{small_put(seed).id}).value().changed);
    }
    CHECK(on.sql("SELECT count(*) FROM cairn.operations") == "1");
}

TEST_CASE("postgres uploads: a living one is not swept, one whose time is over is, as a whole") {
    shared_database on;
    for (const chunk_place place : {chunk_place::row, chunk_place::large_object}) {
        member owner(on.threads, on.url(), place), other(on.threads, on.url(), place);
        const auto written = owner.write(1'000'000, 1);
        CHECK(other.erase(*written).has_value());
        CHECK(on.sql("SELECT count(*) FROM cairn.chunks") == "4");

        on.sql("UPDATE cairn.reclaim SET not_before = 0");
        CHECK(other.erase(*written).has_value());
        CHECK(on.sql("SELECT count(*) FROM cairn.chunks") == "0");
        CHECK(on.sql("SELECT count(*) FROM cairn.reclaim") == "0");
        CHECK(on.sql("SELECT count(*) FROM pg_largeobject_metadata") == "0");
        CHECK(owner.publish(*written, 1'000'000, 1).error() == errc::vanished);
        CHECK(on.sql("SELECT count(*) FROM cairn.blobs") == "0");
    }
}

TEST_CASE("postgres uploads: an owner that wakes up after the sweep began publishes nothing") {
    shared_database on;
    member owner(on.threads, on.url());
    const auto written = owner.write(1'000'000, 1);
    const std::uint64_t container = written->stored().at.container;
    on.sql("UPDATE cairn.reclaim SET not_before = 0");
    // By a sweeper of its own boot, too: it does not sign as the owner does.
    for (const std::uint64_t sweeper : {owner.in->boot() + 7, owner.in->boot()}) {
        CHECK(on.sql(fmt::format("SELECT cairn.claim_bytes({}, {}, 0)", sweeper, container)) ==
              "t");
        CHECK(on.sql(fmt::format("SELECT cairn.sweep_bytes({}, {}, 1, 0)", sweeper, container)) ==
              "f");
        CHECK(owner.publish(*written, 1'000'000, 1).error() == errc::vanished);
        bare_session late(on.threads, on.url());
        const std::string own =
            fmt::format("SELECT cairn.own_upload({}, {})", container, owner.in->boot());
        CHECK(late.run(own).error() == sql_error("CA002"));
    }
    CHECK(on.sql("SELECT count(*) FROM cairn.blobs") == "0");
}

TEST_CASE("postgres uploads: one that lost a chunk when the server went down is not published") {
    shared_database on;
    member owner(on.threads, on.url());
    const auto written = owner.write(1'000'000, 1);
    on.sql("DELETE FROM cairn.chunks WHERE part = 1");
    CHECK(owner.publish(*written, 1'000'000, 1).error() == errc::vanished);
    CHECK(on.sql("SELECT count(*) FROM cairn.blobs") == "0");
}

TEST_CASE("postgres uploads: what is published survives the server's crash") {
    test::postgres_options options;
    options.settings = {"wal_writer_delay=10s"};  // nothing is flushed but by a commit
    postgres_server server(options);
    runtime threads{{.threads = 2, .blocking_threads = 2}};
    member owner(threads, server.url());
    const auto kept = owner.write(3'000'000, 1);
    const auto lost = owner.write(3'000'000, 2);
    REQUIRE(owner.publish(*kept, 3'000'000, 1).has_value());
    const auto late = owner.write(3'000'000, 3);
    server.restart(postgres_server::way::immediate);
    CHECK(server.sql("SELECT count(*) FROM cairn.chunks WHERE container = " +
                     std::to_string(kept->stored().at.container)) == "12");
    // Behind the last flushed commit: gone, all or in part, or there by luck; never half published.
    const bool is_there = owner.publish(*late, 3'000'000, 3).has_value();
    CHECK(server.sql("SELECT count(*) FROM cairn.chunks c JOIN cairn.blobs b USING (container)"
                     " WHERE container = " +
                     std::to_string(late->stored().at.container)) == (is_there ? "12" : "0"));
    CHECK(owner.publish(*lost, 3'000'000, 2).has_value());
}

TEST_CASE("postgres uploads: a sweeper waits for the transaction that publishes") {
    shared_database on;
    member owner(on.threads, on.url());
    const auto written = owner.write(300'000, 1);
    const std::uint64_t container = written->stored().at.container;
    bare_session writing(on.threads, on.url());
    REQUIRE(writing.run("BEGIN").has_value());
    const std::string own =
        fmt::format("SELECT cairn.own_upload({}, {})", container, owner.in->boot());
    REQUIRE(writing.run(own).has_value());
    // Its time is over in the middle of a transaction that writes bytes.
    on.sql("UPDATE cairn.reclaim SET not_before = 0");
    CHECK(on.sql(fmt::format("SELECT cairn.claim_bytes(99, {}, 0)", container)) == "f");
    REQUIRE(writing.run("COMMIT").has_value());
    CHECK(on.sql(fmt::format("SELECT cairn.claim_bytes(99, {}, 0)", container)) == "t");
}

TEST_CASE("postgres uploads: the loser of a race is swept, the winner's bytes stay") {
    shared_database on;
    member first(on.threads, on.url()), second(on.threads, on.url());
    const auto winner = first.write(300'000, 1);
    const auto loser = second.write(300'000, 1);
    CHECK(first.publish(*winner, 300'000, 1).value().changed);
    const applied lost = second.publish(*loser, 300'000, 1).value();
    CHECK_FALSE(lost.changed);
    CHECK(lost.freed);
    CHECK(lost.standing->where == winner->stored().at);
    const auto due = on.threads.run(first.rows->reclaimable(10)).value();
    CHECK(due == std::vector<locator>{loser->stored().at});
    CHECK(first.erase(*loser).has_value());
    CHECK(on.sql("SELECT count(DISTINCT container) FROM cairn.chunks") == "1");
    CHECK(on.threads.run(first.rows->reclaimable(10)).value().empty());
}

TEST_CASE("postgres uploads: what died with its process is found and swept by another") {
    shared_database on;
    {
        member dies(on.threads, on.url());
        const auto half = dies.write(2'000'000, 1);
    }
    on.sql("UPDATE cairn.reclaim SET not_before = least(not_before, cairn.now_us())");
    member other(on.threads, on.url());
    const auto due = on.threads.run(other.rows->reclaimable(10)).value();
    REQUIRE(due.size() == 1);
    CHECK(on.threads.run(other.bytes->erase(due[0])).has_value());
    CHECK(on.sql("SELECT count(*) FROM cairn.chunks") == "0");
    CHECK(on.threads.run(other.rows->reclaimable(10)).value().empty());
}

TEST_CASE("postgres uploads: large objects of others are not touched") {
    shared_database on;
    on.sql("SELECT lo_create(4711)");
    member owner(on.threads, on.url(), chunk_place::large_object);
    const auto written = owner.write(600'000, 1);
    CHECK(on.sql("SELECT count(*) FROM pg_largeobject_metadata") == "2");
    CHECK(owner.erase(*written).has_value());
    CHECK(on.sql("SELECT oid FROM pg_largeobject_metadata") == "4711");
}

awaitable<void> disturb(catalog& rows, std::uint64_t seed, std::size_t& failures) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 60; ++i) {
        const std::uint64_t which = random() % 40;
        const bool removes = random() % 3 == 0;
        change what = remove_blob{small_put(which).id};
        if (!removes) what = small_put(which);
        auto done = co_await rows.commit(std::move(what));
        failures += !done.has_value();
    }
}

awaitable<std::size_t> disturb_all(std::vector<catalog*> members) {
    const executor here = co_await asio::this_coro::executor;
    std::size_t failures = 0;
    task_scope callers(here);
    for (std::uint64_t i = 0; i < 32; ++i) {
        callers.spawn(disturb(*members[i % members.size()], i, failures));
    }
    co_await callers.join();
    co_return failures;
}

TEST_CASE("postgres: members that put and remove the same blobs do not deadlock, and agree") {
    shared_database on;
    const std::string before =
        on.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = '" + on.name + "'");
    std::vector<std::unique_ptr<member>> members;
    std::vector<catalog*> catalogs;
    for (int i = 0; i < 4; ++i) {
        members.push_back(std::make_unique<member>(on.threads, on.url()));
        catalogs.push_back(members.back()->rows.get());
    }
    CHECK(on.threads.run(disturb_all(catalogs)) == 0);
    std::set<std::vector<blob_id>> lists;
    for (catalog* each : catalogs) {
        std::vector<blob_id> ids;
        for (const row& found : on.threads.run(each->list(std::nullopt, 1000)).value()) {
            ids.push_back(found.id);
        }
        lists.insert(ids);
        CHECK(on.threads.run(each->count()).value().blob_count == ids.size());
    }
    CHECK(lists.size() == 1);
    CHECK(on.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = '" + on.name + "'") ==
          before);
}

TEST_CASE("postgres: several that open an empty database at once all get a boot of their own") {
    shared_database on;
    std::vector<std::unique_ptr<member>> members(4);
    std::vector<std::thread> openers;
    for (auto& each : members) {
        openers.emplace_back([&] { each = std::make_unique<member>(on.threads, on.url()); });
    }
    for (std::thread& each : openers) each.join();
    std::set<std::uint64_t> boots;
    for (const auto& each : members) boots.insert(each->in->boot());
    CHECK(boots == std::set<std::uint64_t>{1, 2, 3, 4});
}

result<std::unique_ptr<database>> open(shared_database& on, session_needs needs = {}) {
    auto parsed = server_url::parse(on.url()).value();
    return on.threads.run(database::open(on.threads, parsed, needs));
}

TEST_CASE("postgres: a store of a newer format, or of another durability, is refused") {
    shared_database on;
    { const member made(on.threads, on.url()); }
    on.sql("UPDATE cairn.meta SET durability = 'replicated'");
    CHECK(open(on).error() == errc::incompatible);
    on.sql("UPDATE cairn.meta SET durability = 'full', format = 99");
    CHECK(open(on).error() == errc::incompatible);
    CHECK(on.sql("SELECT boot FROM cairn.meta") == "1");
}

TEST_CASE("postgres: a server that may lose what it says is refused, or allowed and labelled") {
    test::postgres_options options;
    options.settings = {"full_page_writes=off"};
    postgres_server weak_server(options);
    runtime threads{{.threads = 2, .blocking_threads = 2}};
    auto parsed = server_url::parse(weak_server.url()).value();
    session_needs needs;
    CHECK(threads.run(database::open(threads, parsed, needs)).error() == errc::weak_storage);
    needs.allow_weak_storage = true;
    auto allowed = threads.run(database::open(threads, parsed, needs));
    REQUIRE(allowed.has_value());
    CHECK((*allowed)->weak());
    threads.run((*allowed)->close());
}

TEST_CASE("postgres: replicated without a synchronous standby is refused") {
    shared_database on;
    session_needs needs;
    needs.replicated = true;
    CHECK(open(on, needs).error() == errc::weak_storage);
}

}  // namespace
}  // namespace cairn::postgres
