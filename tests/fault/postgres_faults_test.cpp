// What the server, the network and a failover do to a store on PostgreSQL under load: sessions that
// end, servers that stop dead, streams that are cut anywhere, peers that fall silent, a primary
// that is lost. Nothing acknowledged may be, nobody may wait for ever, and all must come back. A
// request that fails in the middle of its body may take its connection along.
#include "runtime/runtime.hpp"
#include "store/open_store.hpp"
#include "tests/fault/crash_counts.hpp"
#include "tests/fault/expect_nothing.hpp"
#include "tests/fault/ledger.hpp"
#include "tests/fault/postgres_audit.hpp"
#include "tests/fault/workload.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/postgres_server.hpp"
#include "tests/support/process.hpp"
#include "tests/support/results.hpp"
#include "tests/support/tcp_proxy.hpp"

#include <chrono>
#include <doctest/doctest.h>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

std::chrono::milliseconds since(clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - start);
}

bool all_connected(std::uint16_t port) {
    http_client client("127.0.0.1", port);
    return client.get("/status").body.find("4 of 4 up") != std::string::npos;
}

// How long until all connections are there; a minute when they never are.
std::chrono::milliseconds time_to_connect(std::uint16_t port) {
    const auto start = clock::now();
    while (!all_connected(port) && since(start) < 60s) std::this_thread::sleep_for(10ms);
    return since(start);
}

// After a fault test: everything that was promised holds, and nobody hangs.
void expect_whole(server_process& server,
                  const ledger& promises,
                  const postgres_server& postgres,
                  const std::string& database) {
    const std::vector<promised_blob> all = promises.copy();
    expect_nothing(broken_promises(server.port(), all));
    expect_nothing(broken_listing(server.port(), all));
    CHECK(server.stop().status == 0);
    expect_nothing(unaccounted(postgres, database));
}

// Whether standby `a` received at least as much of the log as `b`.
bool has_more(const postgres_server& a, const postgres_server& b) {
    const auto lsn = [](const postgres_server& of) {
        const std::string text = of.sql("SELECT pg_last_wal_receive_lsn()");
        return "'" + text.substr(0, text.find('\n')) + "'::pg_lsn";
    };
    return a.sql("SELECT " + lsn(a) + " >= " + lsn(b)).starts_with("t");
}

}  // namespace

TEST_CASE("postgres: sessions that end at random lose nothing, and come back within 2 s") {
    if (no_postgres()) return;
    postgres_server postgres;
    const std::string database = postgres.fresh_database();
    const std::size_t count = is_set("CAIRN_LONG", "1") ? crash_count(1'000) : 60;
    std::mt19937_64 random(crash_seed());
    server_process server(program_under_test(), postgres.url(database));
    ledger promises;
    workload load(promises, server.port(), random());
    std::size_t ended = 0;
    while (ended < count) {
        ended += postgres.terminate_backends(1 + random() % 4);
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    }
    CHECK(time_to_connect(server.port()) < 2s);
    load.stop();
    expect_nothing(load.complaints());
    MESSAGE(ended << " sessions ended, " << promises.size() << " blobs");
    expect_whole(server, promises, postgres, database);
}

TEST_CASE("postgres: a server that stops dead under load loses nothing, and is used 2 s later") {
    if (no_postgres()) return;
    postgres_server postgres;
    const std::string database = postgres.fresh_database();
    const std::size_t stops = crash_count(20);
    std::mt19937_64 random(crash_seed());
    server_process server(program_under_test(), postgres.url(database));
    ledger promises;
    std::chrono::milliseconds slowest{0};
    for (std::size_t i = 0; i < stops; ++i) {
        CAPTURE(i);
        workload load(promises, server.port(), random());
        std::this_thread::sleep_for(100ms + std::chrono::milliseconds(random() % 300));
        postgres.stop(postgres_server::way::immediate);
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 500));
        postgres.start();
        slowest = std::max(slowest, time_to_connect(server.port()));
        load.stop();
        expect_nothing(load.complaints());
    }
    CHECK(slowest < 2s);
    MESSAGE(stops << " stops, " << promises.size() << " blobs, slowest return " << slowest.count()
                  << " ms");
    expect_whole(server, promises, postgres, database);
}

TEST_CASE("postgres: while the server is away callers are told 503, soon, and nobody hangs") {
    if (no_postgres()) return;
    postgres_server postgres;
    server_process server(program_under_test(), postgres.url());
    http_client client("127.0.0.1", server.port());
    CHECK(client.post("/blobs", "before").status == 201);
    postgres.stop(postgres_server::way::immediate);
    const auto start = clock::now();
    CHECK(client.post("/blobs", "meanwhile").status == 503);
    CHECK(since(start) < 8s);  // a patience of 5 s
    const auto again = clock::now();
    const http_response refused = client.post("/blobs", "meanwhile");
    CHECK(refused.status == 503);
    CHECK(!refused.header("retry-after").empty());
    CHECK(since(again) < 1s);  // the circuit is open
    postgres.start();
    CHECK(time_to_connect(server.port()) < 2s);
    CHECK(client.post("/blobs", "meanwhile").status == 201);
    CHECK(server.stop().status == 0);
}

TEST_CASE("postgres: a primary lost in replicated mode takes nothing acknowledged along") {
    if (no_postgres()) return;
    postgres_options options;
    options.settings = {"max_wal_senders=8", "hot_standby=on"};
    postgres_server first(options);
    postgres_server second(first, "s2"), third(first, "s3");
    // All in sync, so that either may take over.
    first.set("synchronous_standby_names", "2 (s2, s3)");
    const std::string url = "postgresql://cairn@/postgres?host=" + first.host() + "," +
                            second.host() + "," + third.host();
    server_process server(program_under_test(), url, {"--durability", "replicated"});
    ledger promises;
    std::mt19937_64 random(crash_seed());
    workload load(promises, server.port(), random());
    std::this_thread::sleep_for(1s);
    first.stop(postgres_server::way::immediate);
    std::this_thread::sleep_for(300ms);

    // As a person would: the one that has more takes over, for the other could not give it back.
    const bool is_second = has_more(second, third);
    postgres_server& heir = is_second ? second : third;
    postgres_server& rest = is_second ? third : second;
    const auto start = clock::now();
    heir.set("synchronous_standby_names", is_second ? "1 (s3)" : "1 (s2)");
    heir.promote();
    rest.follow(heir);
    http_client client("127.0.0.1", server.port());
    while (client.post("/blobs", "after").status / 100 != 2 && since(start) < 60s) {
        std::this_thread::sleep_for(20ms);
    }
    CHECK(since(start) < 5s);
    MESSAGE("writes resumed after " << since(start).count() << " ms");
    CHECK(client.remove("/blobs/" + blob_id::of(as_bytes("after")).hex()).status == 204);
    std::this_thread::sleep_for(500ms);
    load.stop();
    expect_nothing(load.complaints());
    expect_whole(server, promises, heir, "postgres");
}

TEST_CASE("postgres: replicated waits for the standby, and a hit does too") {
    if (no_postgres()) return;
    postgres_options options;
    options.settings = {"max_wal_senders=8", "hot_standby=on"};
    postgres_server primary(options);
    auto standby = std::make_unique<postgres_server>(primary, "s2");
    primary.set("synchronous_standby_names", "1 (s2)");
    server_process server(program_under_test(), primary.url(), {"--durability", "replicated"});
    http_client client("127.0.0.1", server.port());
    const http_response made = client.post("/blobs", "present");
    CHECK(made.status == 201);
    CHECK(made.header("cairn-durability") == "replicated");

    standby->stop();
    http_client impatient("127.0.0.1", server.port(), 1s);
    CHECK_THROWS_AS(impatient.post("/blobs", "present"), connection_lost);
    http_client asking("127.0.0.1", server.port(), 1s);
    CHECK_THROWS_AS(asking.head("/blobs/" + blob_id::of(as_bytes("present")).hex()),
                    connection_lost);
    standby->start();
    CHECK(client.post("/blobs", "present").status == 200);
    CHECK(server.stop().status == 0);
}

namespace {

// A store behind a proxy, in this process.
class proxied_store {
public:
    explicit proxied_store(postgres_server& postgres)
        : database(postgres.fresh_database()), proxy(postgres.port()) {
        store_options options;
        options.catalog = postgres.url_by_port(proxy.port(), database);
        opened = threads.run(open_store(threads, options)).value();
    }
    ~proxied_store() { threads.run(opened->close()); }

    result<receipt> put(const buffer& body) {
        piecewise_source from(body);
        return threads.run(opened->put(from, std::nullopt));
    }
    result<std::string> get(const blob_id& id) { return threads.run(read(*opened, id)); }
    result<bool> remove(const blob_id& id) { return threads.run(opened->remove(id)); }

    const std::string database;
    tcp_proxy proxy;
    runtime threads{{.threads = 2, .blocking_threads = 2}};
    std::unique_ptr<store> opened;

private:
    static awaitable<result<std::string>> read(store& from, blob_id id) {
        auto opened = co_await from.get(id, byte_range());
        if (!opened) co_return opened.error();
        if (!*opened) co_return error_code(errc::absent);
        co_return co_await read_all(**opened);
    }
};

// Puts, reads and removes; what is answered must be so, whatever was cut on the way.
void exchange(proxied_store& over, std::uint64_t seed) {
    const buffer small = random_body(300, seed);
    const buffer large = random_body(70'000, seed);
    const auto kept = over.put(small);
    REQUIRE(kept.has_value());
    const auto in_bulk = over.put(large);
    REQUIRE(in_bulk.has_value());
    CHECK((over.get(in_bulk->id).value() == large.text()));
    CHECK(over.remove(kept->id).value());
    CHECK(over.get(kept->id).error() == errc::absent);
    CHECK(over.remove(in_bulk->id).value());
}

}  // namespace

TEST_CASE("postgres: a stream that is cut after any byte, either way, loses and doubles nothing") {
    if (no_postgres()) return;
    postgres_options options;
    options.tcp = true;
    postgres_server postgres(options);
    proxied_store over(postgres);
    exchange(over, 0);
    std::mt19937_64 random(crash_seed());
    std::size_t cuts = 0;
    for (const auto way : {tcp_proxy::way::to_server, tcp_proxy::way::to_client}) {
        const std::uint64_t before = over.proxy.passed(way);
        exchange(over, 1);
        const std::uint64_t length = over.proxy.passed(way) - before;
        // Every byte of the messages that decide; the body's own bytes are one like the other.
        const std::uint64_t step = is_set("CAIRN_LONG", "1") ? 1 : 131;
        for (std::uint64_t k = random() % step; k < length; k += k < 4'000 ? step : step * 40) {
            CAPTURE(k);
            over.proxy.cut_after(way, k);
            exchange(over, 2 + ++cuts);
        }
    }
    MESSAGE(cuts << " cuts");
    expect_nothing(unaccounted(postgres, over.database));
}

// Link tests do the same within a moment; here it takes the real patience of 15 s.
TEST_CASE("postgres: a silent peer is found, and who waits is answered") {
    if (no_postgres() || !is_set("CAIRN_LONG", "1")) return;
    postgres_options options;
    options.tcp = true;
    postgres_server postgres(options);
    proxied_store over(postgres);
    exchange(over, 1);
    over.proxy.behave({.stalled = true});
    const auto start = clock::now();
    std::thread healer([&over] {
        std::this_thread::sleep_for(16s);
        over.proxy.behave({});
    });
    exchange(over, 2);  // its first request falls into the silence
    CHECK(since(start) < 30s);
    healer.join();
}

}  // namespace cairn::test
