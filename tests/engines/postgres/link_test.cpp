// A link over a real server: what callers are told, whatever happens to the connection, the server
// and the network between.
#include "engines/postgres/link.hpp"

#include "engines/postgres/sql_error.hpp"
#include "runtime/deadline.hpp"
#include "runtime/runtime.hpp"
#include "runtime/task_scope.hpp"
#include "tests/support/postgres_server.hpp"
#include "tests/support/results.hpp"
#include "tests/support/run_coro.hpp"
#include "tests/support/tcp_proxy.hpp"
#include "tests/support/temp_dir.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <cstdio>
#include <cstring>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cairn::test {
namespace {

using namespace postgres;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr statement give_number{"give_number", "SELECT $1::bigint"};
constexpr statement give_bytes{"give_bytes", "SELECT $1::bytea"};
constexpr statement sleep_for_seconds{"sleep_for_seconds", "SELECT pg_sleep($1::bigint)"};
constexpr statement backend_id{"backend_id", "SELECT pg_backend_pid()::bigint"};
constexpr statement end_myself{nullptr, "SELECT pg_terminate_backend(pg_backend_pid())"};
constexpr statement make_table{nullptr,
                               "CREATE TABLE kept(number bigint PRIMARY KEY, "
                               "once bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)"};
constexpr statement keep{"keep", "INSERT INTO kept VALUES ($1, $2)"};
constexpr statement count_kept{"count_kept", "SELECT count(*) FROM kept"};

segment number(std::int64_t value) { return segment(give_number, parameters().add(value)); }
segment giving(std::size_t size) {
    return segment(give_bytes, parameters().add(buffer::allocate(size)));
}
segment keeping(std::int64_t value) { return segment(keep, parameters().add(value).add(value)); }
segment sleeping(std::int64_t seconds) {
    return segment(sleep_for_seconds, parameters().add(seconds));
}

// The rows of its last statement.
rows rows_of(result<answers> got) {
    REQUIRE(got.has_value());
    return std::move(got->back());
}

error_code error_of(const result<answers>& got) { return got ? error_code() : got.error(); }

std::int64_t integer_of(result<answers> got) { return rows_of(std::move(got)).integer(0, 0); }

// Patience for what must come soon, on a machine that may be busy.
bool soon(const std::function<bool()>& is_so, std::chrono::milliseconds patience = 20s) {
    const auto until = steady_clock::now() + patience;
    while (!is_so()) {
        if (steady_clock::now() > until) return false;
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

std::chrono::milliseconds since(steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - start);
}

// A link whose home is another thread than the callers', which are on the test's.
struct linked {
    explicit linked(const std::string& url, link_options options = {}, greeter greet = {})
        : to(threads.run(link::open(threads.at(0).get_executor(),
                                    threads.pool(),
                                    server_url::parse(url).value(),
                                    options,
                                    std::move(greet)))) {}
    ~linked() { threads.run(to->close()); }

    result<answers> run(segment what) { return run_coro(context, to->run(std::move(what))); }
    bool comes_up() {
        return soon([this] { return to->status().connected; });
    }

    runtime threads{{.threads = 1, .blocking_threads = 1}};
    std::unique_ptr<link> to;
    asio::io_context context;
};

// The shared server, with a database of the test's own.
struct fresh_database {
    postgres_server& server = postgres_server::shared();
    std::string name = server.fresh_database();
    std::string url() const { return server.url(name); }
    std::string sql(const std::string& text) const { return server.sql(text, name); }
};

std::string with(std::string url, const std::string& setting) {
    const char mark = url.find('?') == url.npos ? '?' : '&';
    return url + mark + setting;
}

}  // namespace

TEST_CASE("link: answers come in order, each to its caller") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    std::vector<ticket> started;
    for (std::int64_t i = 0; i < 1000; ++i) started.push_back(on.to->start(number(i)));
    for (std::int64_t i = 999; i >= 0; --i) {
        auto& each = started[std::size_t(i)];
        REQUIRE(integer_of(run_coro(on.context, each.answer())) == i);
    }
    CHECK(on.to->status().unanswered_segments == 0);
    CHECK(on.to->status().connects == 1);
}

TEST_CASE("link: values of every type go there and come back") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    static constexpr statement echo{
        "echo", "SELECT $1::bigint, $2::boolean, $3::bytea, $4::bytea, $5::text, $6::bytea, $7"};
    const buffer shared = buffer::copy_of(as_bytes("shared"));
    parameters all;
    all.add(std::int64_t{-7}).add(true).add(as_bytes("copied")).add(shared);
    all.add("text").add_null().add(byte_view());
    const auto got = on.run(segment(echo, all));
    REQUIRE(got.has_value());
    const rows& row = got->front();
    CHECK(row.size() == 1);
    CHECK(row.integer(0, 0) == -7);
    CHECK(row.boolean(0, 1));
    CHECK(as_text(row.bytes(0, 2)) == "copied");
    CHECK(as_text(row.bytes(0, 3)) == "shared");
    CHECK(row.text(0, 4) == "text");
    CHECK(row.is_null(0, 5));
    CHECK_FALSE(row.is_null(0, 6));
    CHECK(row.bytes(0, 6).empty());
}

TEST_CASE("link: arrays go there, with nulls, and empty") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    static constexpr statement unfold{
        "unfold",
        "SELECT a, b, c FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS t(a, b, c)"};
    const std::vector<std::int64_t> plain{1, 2};
    const std::vector<std::optional<std::int64_t>> numbers{std::nullopt, -1};
    const std::vector<std::optional<byte_view>> bytes{as_bytes("x"), std::nullopt};
    const auto got = on.run(segment(unfold, parameters().add(plain).add(numbers).add(bytes)));
    REQUIRE(got.has_value());
    const rows& row = got->front();
    REQUIRE(row.size() == 2);
    CHECK(row.integer(1, 0) == 2);
    CHECK(row.is_null(0, 1));
    CHECK(row.integer(1, 1) == -1);
    CHECK(row.text(0, 2) == "x");
    CHECK(row.is_null(1, 2));

    const std::vector<std::int64_t> none;
    const auto empty = on.run(segment(
        unfold, parameters().add(none).add(numbers).add(std::vector<std::optional<byte_view>>())));
    REQUIRE(empty.has_value());
    CHECK(empty->front().size() == 2);
    CHECK(empty->front().is_null(0, 0));
}

TEST_CASE("link: a segment is all or nothing, and an error fails it alone") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    REQUIRE(on.run(segment(make_table)).has_value());
    CHECK(rows_of(on.run(keeping(1))).affected() == 1);
    auto good = on.to->start(keeping(2));
    auto bad = on.to->start(keeping(3).add(keep, parameters().add(1).add(10)));
    auto late = on.to->start(keeping(4).add(keep, parameters().add(5).add(4)));
    auto after = on.to->start(keeping(6));
    CHECK(run_coro(on.context, good.answer()).has_value());
    CHECK(error_of(run_coro(on.context, bad.answer())) == sql_error("23505"));
    // The deferred constraint is checked by the commit itself, after every statement succeeded.
    CHECK(error_of(run_coro(on.context, late.answer())) == sql_error("23505"));
    CHECK(run_coro(on.context, after.answer()).has_value());
    CHECK(database.sql("SELECT string_agg(number::text, ',' ORDER BY number) FROM kept") ==
          "1,2,6");
    CHECK(on.to->status().connects == 1);
}

TEST_CASE("link: large values go both ways at once") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    const std::size_t size = 32 << 20;
    const buffer body = buffer::allocate(size);
    std::memset(buffer(body).mutable_data(), 'x', size);
    std::vector<ticket> started;
    for (int i = 0; i < 3; ++i) {
        started.push_back(on.to->start(segment(give_bytes, parameters().add(body))));
    }
    for (auto& each : started) {
        const auto got = run_coro(on.context, each.answer());
        REQUIRE(got.has_value());
        const byte_view back = got->front().bytes(0, 0);
        REQUIRE(back.size() == size);
        CHECK(std::memcmp(back.data(), body.data(), size) == 0);
    }
}

TEST_CASE("link: what no message can carry is refused") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    const buffer body = buffer::allocate(std::size_t{600} << 20);
    const segment large(give_bytes, parameters().add(body).add(body));
    CHECK(error_of(on.run(large)) == errc::too_large);
    CHECK(integer_of(on.run(number(1))) == 1);
}

TEST_CASE("link: a terminated backend loses what was sent, and the link comes back") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    REQUIRE(on.run(segment(make_table)).has_value());
    const auto backend = integer_of(on.run(segment(backend_id)));
    auto first = on.to->start(sleeping(30));
    auto second = on.to->start(keeping(1));
    REQUIRE(soon([&] { return on.to->status().unanswered_segments == 2; }));
    const auto start = steady_clock::now();
    database.sql("SELECT pg_terminate_backend(" + std::to_string(backend) + ")");
    CHECK(error_of(run_coro(on.context, first.answer())) == errc::connection_lost);
    CHECK(error_of(run_coro(on.context, second.answer())) == errc::connection_lost);
    CHECK(integer_of(on.run(segment(count_kept))) == 0);
    CHECK(since(start) < 2s);
    CHECK(on.to->status().connects == 2);
    CHECK(on.to->status().last_error.find("terminating connection") != std::string::npos);
}

TEST_CASE("link: what the server answered before it went is not lost") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    // libpq's buffer becomes large, so that answers and the end are read at once.
    REQUIRE(on.run(giving(2 << 20)).has_value());
    std::promise<void> all_started;
    const auto home = on.threads.at(0).get_executor();
    asio::post(home, [&] { all_started.get_future().wait(); });
    std::vector<ticket> answered;
    for (int i = 0; i < 6; ++i) answered.push_back(on.to->start(giving(20'000)));
    auto end = on.to->start(segment(end_myself));
    // They are sent together; then nobody reads until the server has gone.
    asio::post(home, [] { std::this_thread::sleep_for(300ms); });
    all_started.set_value();
    for (auto& each : answered) CHECK(run_coro(on.context, each.answer()).has_value());
    CHECK(error_of(run_coro(on.context, end.answer())) == errc::connection_lost);
}

TEST_CASE("link: a write that finds the server gone makes no answers up") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    REQUIRE(on.comes_up());
    const auto home = on.threads.at(0).get_executor();
    std::promise<void> all_started;
    asio::post(home, [&] { all_started.get_future().wait(); });
    std::vector<ticket> early;
    for (std::int64_t i = 0; i < 6; ++i) early.push_back(on.to->start(number(i)));
    auto end = on.to->start(segment(end_myself));
    std::promise<void> more_started;
    asio::post(home, [&] { more_started.get_future().wait(); });
    all_started.set_value();
    std::this_thread::sleep_for(200ms);
    std::vector<ticket> late;
    for (std::int64_t i = 6; i < 20; ++i) late.push_back(on.to->start(number(i)));
    more_started.set_value();

    CHECK(error_of(run_coro(on.context, end.answer())) == errc::connection_lost);
    std::move(late.begin(), late.end(), std::back_inserter(early));
    for (std::int64_t i = 0; i < 20; ++i) {
        const auto got = run_coro(on.context, early[std::size_t(i)].answer());
        if (got) CHECK(got->front().integer(0, 0) == i);
        if (!got) CHECK(got.error() == errc::connection_lost);
    }
}

TEST_CASE("link: back within two seconds of the server's return; callers waited meanwhile") {
    if (no_postgres()) return;
    postgres_server server;
    link_options options;
    options.outage_patience = 60s;
    linked on(server.url(), options);
    REQUIRE(on.run(segment(make_table)).has_value());
    for (const auto how : {postgres_server::way::fast, postgres_server::way::immediate}) {
        server.stop(how);
        auto waiting = on.to->start(number(5));
        std::this_thread::sleep_for(1500ms);
        server.start();
        const auto start = steady_clock::now();
        CHECK(integer_of(run_coro(on.context, waiting.answer())) == 5);
        CHECK(since(start) < 2s);
    }
}

TEST_CASE("link: a long outage refuses at once, those who wait and those who come") {
    if (no_postgres()) return;
    postgres_server server;
    link_options options;
    options.outage_patience = 1500ms;
    linked on(server.url(), options);
    CHECK(integer_of(on.run(number(1))) == 1);
    server.stop();
    const auto start = steady_clock::now();
    CHECK(error_of(on.run(number(2))) == errc::unavailable);
    CHECK(since(start) >= 500ms);
    const auto later = steady_clock::now();
    for (int i = 0; i < 100; ++i) REQUIRE(error_of(on.run(number(2))) == errc::unavailable);
    CHECK(since(later) < 200ms);
    CHECK_FALSE(on.to->status().connected);
    server.start();
    REQUIRE(on.comes_up());
    CHECK(integer_of(on.run(number(3))) == 3);
}

TEST_CASE("link: a server that was never there is unavailable") {
    link_options options;
    options.outage_patience = 100ms;
    linked on("postgresql://cairn@127.0.0.1:1/nowhere", options);
    CHECK(error_of(on.run(number(1))) == errc::unavailable);
    CHECK(soon([&] { return !on.to->status().last_error.empty(); }));
}

TEST_CASE("link: a peer that falls silent is found by the deadline of the oldest segment") {
    if (no_postgres()) return;
    postgres_server server({.tcp = true});
    tcp_proxy proxy(server.port());
    link_options options;
    options.segment_timeout = 500ms;
    options.connect_timeout = 200ms;
    options.outage_patience = 60s;
    linked on(server.url_by_port(proxy.port()), options);
    CHECK(integer_of(on.run(number(1))) == 1);
    proxy.behave({.stalled = true});
    const auto start = steady_clock::now();
    CHECK(error_of(on.run(number(2))) == errc::connection_lost);
    CHECK(since(start) >= 450ms);
    CHECK(since(start) < 5s);
    // Nor does it answer a connect.
    CHECK(soon([&] {
        return on.to->status().last_error.find("timed out") != std::string::npos ||
               on.to->status().last_error.find("silent") != std::string::npos;
    }));
    proxy.behave({});
    CHECK(integer_of(on.run(number(3))) == 3);
}

TEST_CASE("link: a slow network loses nothing") {
    if (no_postgres()) return;
    postgres_server server({.tcp = true});
    tcp_proxy proxy(server.port());
    proxy.behave({.piece_bytes = 1});
    linked on(server.url_by_port(proxy.port()));
    for (std::int64_t i = 0; i < 20; ++i) CHECK(integer_of(on.run(number(i))) == i);
}

namespace {

// A key and a certificate for it, signed by itself, where the server may read them.
void write_certificate(const postgres_server& server, const std::string& path) {
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const std::unique_ptr<X509, void (*)(X509*)> made(X509_new(), X509_free);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
    X509_set_pubkey(made.get(), key.get());
    REQUIRE(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);
    std::unique_ptr<FILE, int (*)(FILE*)> key_file(std::fopen((path + ".key").c_str(), "w"),
                                                   std::fclose);
    PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen((path + ".crt").c_str(), "w"),
                                               std::fclose);
    PEM_write_X509(file.get(), made.get());
    // The server refuses a key that others may read.
    struct stat owner {};
    REQUIRE(::stat((server.host() + "/data").c_str(), &owner) == 0);
    REQUIRE(::fchmod(::fileno(key_file.get()), 0600) == 0);
    REQUIRE(::fchown(::fileno(key_file.get()), owner.st_uid, owner.st_gid) == 0);
}

}  // namespace

// A record of TLS is read as a whole: what libpq has not taken of it, the socket does not announce.
TEST_CASE("link: over TLS too, large values go both ways at once") {
    if (no_postgres()) return;
    postgres_server server({.tcp = true});
    const std::string path = server.host() + "/tls";
    write_certificate(server, path);
    server.set("ssl_cert_file", path + ".crt");
    server.set("ssl_key_file", path + ".key");
    server.set("ssl", "on");
    linked on(with(server.url_by_port(server.port()), "sslmode=require"));
    static constexpr statement is_encrypted{
        nullptr, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"};
    CHECK(rows_of(on.run(segment(is_encrypted))).boolean(0, 0));
    for (std::size_t size = 1; size <= std::size_t{8} << 20; size = size * 2 + 1) {
        const buffer body = buffer::allocate(size);
        std::memset(buffer(body).mutable_data(), 'x', size);
        std::vector<ticket> started;
        for (int i = 0; i < 3; ++i) {
            started.push_back(on.to->start(segment(give_bytes, parameters().add(body))));
        }
        for (auto& each : started) {
            const auto got = run_coro(on.context, each.answer());
            REQUIRE(got.has_value());
            REQUIRE(got->front().bytes(0, 0).size() == size);
        }
    }
    CHECK(on.to->status().connects == 1);
}

TEST_CASE("link: a commit whose wait for a standby was cut short is no success") {
    if (no_postgres()) return;
    postgres_server server;
    linked on(server.url());
    REQUIRE(on.run(segment(make_table)).has_value());
    server.set("synchronous_standby_names", "nobody");
    auto waiting = on.to->start(keeping(1));
    CHECK(soon([&] {
        return server.sql(
                   "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                   "WHERE wait_event = 'SyncRep'") == "t";
    }));
    CHECK(error_of(run_coro(on.context, waiting.answer())) == errc::connection_lost);
    CHECK(integer_of(on.run(segment(count_kept))) == 1);  // and yet it happened
    CHECK(on.to->status().connects == 2);
}

TEST_CASE("link: the first host of a list that takes writes is used") {
    if (no_postgres()) return;
    postgres_server server({.tcp = true});
    const std::string port = std::to_string(server.port());
    linked on("postgresql://cairn@127.0.0.1:1,localhost:" + port + "/postgres");
    CHECK(integer_of(on.run(number(1))) == 1);
    CHECK(on.to->status().server == "localhost:" + port);
}

namespace {

// Runs it and cancels it after a while; whether it threw a cancellation.
awaitable<bool> cancelled_after(std::chrono::milliseconds time, link& to, segment what) {
    const executor home = co_await asio::this_coro::executor;
    constexpr auto run = [](link& on, segment asked, bool& is_done) -> awaitable<void> {
        (void)co_await on.run(std::move(asked));
        is_done = true;
    };
    bool is_done = false;
    task_scope scope(home);
    scope.spawn(run(to, std::move(what), is_done));
    co_await sleep_for(time);
    scope.request_stop();
    co_await scope.join();
    co_return !is_done;
}

}  // namespace

TEST_CASE("link: cancelled before it was sent, a segment never happens") {
    if (no_postgres()) return;
    postgres_server server;
    link_options options;
    options.outage_patience = 60s;
    linked on(server.url(), options);
    REQUIRE(on.run(segment(make_table)).has_value());
    server.stop();
    REQUIRE(soon([&] { return !on.to->status().connected; }));
    CHECK(run_coro(on.context, cancelled_after(50ms, *on.to, keeping(1))));
    { const ticket dropped = on.to->start(keeping(2)); }
    server.start();
    CHECK(integer_of(on.run(segment(count_kept))) == 0);
}

TEST_CASE("link: cancelled after it was sent, a segment is abandoned, and the next is answered") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    REQUIRE(on.run(segment(make_table)).has_value());
    const auto start = steady_clock::now();
    segment slow = sleeping(1);
    slow.add(keep, parameters().add(1).add(1));
    CHECK(run_coro(on.context, cancelled_after(100ms, *on.to, slow)));
    CHECK(since(start) < 800ms);
    {
        const ticket dropped = on.to->start(keeping(2));
        CHECK(soon([&] { return on.to->status().unanswered_segments == 2; }));
    }
    CHECK(integer_of(on.run(segment(count_kept))) == 2);
    CHECK(on.to->status().connects == 1);
}

TEST_CASE("link: more callers than the queue holds wait for room") {
    if (no_postgres()) return;
    const fresh_database database;
    link_options options;
    options.queue_segments = 4;
    options.unanswered_segments = 2;
    linked on(database.url(), options);
    std::vector<ticket> started;
    for (std::int64_t i = 0; i < 50; ++i) started.push_back(on.to->start(number(i)));
    for (std::int64_t i = 0; i < 50; ++i) {
        CHECK(integer_of(run_coro(on.context, started[std::size_t(i)].answer())) == i);
    }
}

TEST_CASE("link: an answer that was not fetched yet takes no room") {
    if (no_postgres()) return;
    const fresh_database database;
    link_options options;
    options.queue_segments = 2;
    linked on(database.url(), options);
    auto first = on.to->start(number(1));
    auto second = on.to->start(number(2));
    CHECK(integer_of(on.run(number(3))) == 3);
    CHECK(integer_of(run_coro(on.context, second.answer())) == 2);
    CHECK(integer_of(run_coro(on.context, first.answer())) == 1);
}

TEST_CASE("link: statements are prepared once for each connection") {
    if (no_postgres()) return;
    const fresh_database database;
    static constexpr statement list{
        nullptr, "SELECT string_agg(name, ',' ORDER BY name) FROM pg_prepared_statements"};
    linked on(database.url());
    for (int i = 0; i < 3; ++i) REQUIRE(on.run(number(1).add(backend_id)).has_value());
    CHECK(rows_of(on.run(segment(list))).text(0, 0) == "backend_id,give_number");

    linked pooled(with(database.url(), "cairn.prepare=false"));
    for (int i = 0; i < 3; ++i) CHECK(integer_of(pooled.run(number(i))) == i);
    CHECK(rows_of(pooled.run(segment(list))).is_null(0, 0));
}

TEST_CASE("link: a statement that the server lost or outgrew is prepared anew") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    static constexpr statement forget{nullptr, "DEALLOCATE ALL"};
    static constexpr statement outgrow{nullptr, "ALTER TABLE kept ALTER once TYPE text"};
    static constexpr statement all{"all_kept", "SELECT * FROM kept"};
    REQUIRE(on.run(segment(make_table)).has_value());
    REQUIRE(on.run(segment(all)).has_value());
    REQUIRE(on.run(segment(forget)).has_value());
    CHECK(on.run(segment(all)).has_value());
    CHECK(on.run(keeping(1)).has_value());
    REQUIRE(on.run(segment(outgrow)).has_value());
    CHECK(rows_of(on.run(segment(all))).text(0, 1) == "1");
    CHECK(on.to->status().connects == 1);
}

TEST_CASE("link: a statement that cannot be prepared fails its segment with the reason") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    static constexpr statement nonsense{"nonsense", "SELECT FROM nowhere"};
    for (int i = 0; i < 2; ++i) CHECK(error_of(on.run(segment(nonsense))) == sql_error("42P01"));
    CHECK(integer_of(on.run(number(1))) == 1);
    CHECK(on.to->status().connects == 1);
}

namespace {

// Greets by counting itself into a table, then as told.
struct greetings {
    greeter greet() {
        return [this](greeting& fresh) { return run(fresh); };
    }
    awaitable<result<void>> run(greeting& fresh) {
        ++count;
        const auto hello = co_await fresh.run(number(count.load()));
        if (!hello) co_return hello.error();
        co_return said.load() == 0 ? result<void>() : error_code(errc(said.load()));
    }
    std::atomic<int> count{0};
    std::atomic<int> said{0};  // an errc
};

}  // namespace

TEST_CASE("link: each connection is greeted before anything else is sent on it") {
    if (no_postgres()) return;
    const fresh_database database;
    greetings hello;
    linked on(database.url(), {}, hello.greet());
    CHECK(integer_of(on.run(number(1))) == 1);
    CHECK(hello.count == 1);
    const auto backend = integer_of(on.run(segment(backend_id)));
    database.sql("SELECT pg_terminate_backend(" + std::to_string(backend) + ")");
    REQUIRE(soon([&] { return on.to->status().connects == 2; }));
    CHECK(hello.count == 2);
}

TEST_CASE("link: callers are told what the greeter found wrong, until it is right") {
    if (no_postgres()) return;
    const fresh_database database;
    greetings hello;
    hello.said = int(errc::weak_storage);
    linked on(database.url(), {}, hello.greet());
    CHECK(error_of(on.run(number(1))) == errc::weak_storage);
    CHECK(error_of(on.run(number(1))) == errc::weak_storage);
    hello.said = 0;
    REQUIRE(on.comes_up());
    CHECK(integer_of(on.run(number(1))) == 1);
}

TEST_CASE("link: a greeting that may succeed later is tried again, and callers wait") {
    if (no_postgres()) return;
    const fresh_database database;
    greetings hello;
    hello.said = int(errc::overloaded);
    linked on(database.url(), {}, hello.greet());
    auto waiting = on.to->start(number(1));
    REQUIRE(soon([&] { return hello.count >= 3; }));
    hello.said = 0;
    CHECK(integer_of(run_coro(on.context, waiting.answer())) == 1);
}

TEST_CASE("link: close answers what was started and refuses what comes after") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    REQUIRE(on.comes_up());
    auto slow = on.to->start(sleeping(1));
    auto behind = on.to->start(number(7));
    on.threads.run(on.to->close());
    CHECK(run_coro(on.context, slow.answer()).has_value());
    CHECK(integer_of(run_coro(on.context, behind.answer())) == 7);
    CHECK(error_of(on.run(number(1))) == errc::closed);
}

TEST_CASE("link: close does not wait for a server that is away") {
    link_options options;
    options.outage_patience = 60s;
    linked on("postgresql://cairn@127.0.0.1:1/nowhere", options);
    auto waiting = on.to->start(number(1));
    const auto start = steady_clock::now();
    on.threads.run(on.to->close());
    CHECK(since(start) < 2s);
    CHECK(error_of(run_coro(on.context, waiting.answer())) == errc::closed);
}

TEST_CASE("link: callers of many threads, connections that are cut, nobody stuck or mixed up") {
    if (no_postgres()) return;
    const fresh_database database;
    linked on(database.url());
    std::atomic<int> answered{0};
    std::atomic<int> lost{0};
    std::atomic<bool> is_over{false};
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; ++t) {
        callers.emplace_back([&, t] {
            asio::io_context context;
            for (std::int64_t i = t; !is_over; i += 4) {
                const auto got = run_coro(context, on.to->run(number(i)));
                if (got) {
                    answered += got->front().integer(0, 0) == i ? 1 : 1'000'000'000;
                } else {
                    lost += got.error() == errc::connection_lost ? 1 : 1'000'000'000;
                }
            }
        });
    }
    for (int i = 0; i < 15; ++i) {
        std::this_thread::sleep_for(50ms);
        database.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'cairn' AND datname = current_database()");
    }
    is_over = true;
    for (auto& each : callers) each.join();
    CHECK(answered > 100);
    CHECK(answered < 1'000'000'000);
    CHECK(lost < 1'000'000'000);
    CHECK(on.to->status().connects >= 5);
}

// A descriptor closed twice would close what another thread opened in between.
TEST_CASE("link: connections come and go without closing anybody else's files") {
    if (no_postgres()) return;
    const fresh_database database;
    std::atomic<bool> is_over{false};
    std::atomic<int> broken{0};
    std::thread opener([&] {
        while (!is_over) {
            std::array<int, 2> ends{};
            if (::pipe2(ends.data(), O_CLOEXEC) != 0) continue;
            std::this_thread::yield();
            char byte = 'x';
            if (::write(ends[1], &byte, 1) != 1 || ::read(ends[0], &byte, 1) != 1) ++broken;
            if (::close(ends[0]) != 0 || ::close(ends[1]) != 0) ++broken;
        }
    });
    for (int i = 0; i < 20; ++i) {
        linked on(database.url());
        CHECK(integer_of(on.run(number(i))) == i);
        const auto backend = integer_of(on.run(segment(backend_id)));
        database.sql("SELECT pg_terminate_backend(" + std::to_string(backend) + ")");
        REQUIRE(soon([&] { return on.to->status().connects == 2; }));
    }
    is_over = true;
    opener.join();
    CHECK(broken == 0);
}

TEST_CASE("link: it comes back when descriptors had run out") {
    if (no_postgres()) return;
    const fresh_database database;
    link_options options;
    options.outage_patience = 60s;
    linked on(database.url(), options);
    REQUIRE(on.comes_up());
    rlimit kept{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &kept) == 0);
    const rlimit none{0, kept.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    const auto ended = error_of(on.run(segment(end_myself)));
    const bool was_tried = soon([&] {
        return on.to->status().last_error.find("Too many open files") != std::string::npos;
    });
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &kept) == 0);
    CHECK(ended == errc::connection_lost);
    CHECK(was_tried);
    CHECK(integer_of(on.run(number(1))) == 1);
}

namespace {

// What is written to standard error while it lives.
class captured_log {
public:
    captured_log() : kept_(::dup(STDERR_FILENO)) {
        const int file = ::open(path().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        ::dup2(file, STDERR_FILENO);
        ::close(file);
    }
    ~captured_log() { stop(); }
    std::string stop() {
        if (kept_ >= 0) {
            ::dup2(kept_, STDERR_FILENO);
            ::close(std::exchange(kept_, -1));
        }
        std::ifstream stream(path());
        return {std::istreambuf_iterator<char>(stream), {}};
    }

private:
    std::string path() const { return folder_ / "log"; }

    temp_dir folder_;
    int kept_;
};

}  // namespace

TEST_CASE("link: one line when it is lost and one when it is back, and never a password") {
    if (no_postgres()) return;
    postgres_server server({.tcp = true});
    std::string url = server.url_by_port(server.port());
    url.insert(url.find('@'), ":secret");
    captured_log log;
    std::string status;
    {
        linked on(url);
        REQUIRE(on.comes_up());
        server.stop();
        REQUIRE(soon([&] { return !on.to->status().connected; }));
        std::this_thread::sleep_for(500ms);
        status = on.to->status().last_error + on.to->status().server;
        server.start();
        REQUIRE(on.comes_up());
    }
    const std::string lines = log.stop();
    const auto times = [&](const std::string& part) {
        int count = 0;
        for (auto at = lines.find(part); at != lines.npos; at = lines.find(part, at + 1)) ++count;
        return count;
    };
    CHECK(times(" W postgres lost ") == 1);
    CHECK(times(" I postgres connected to ") == 2);
    CHECK(times("\n") == 3);
    CHECK(times("secret") == 0);
    CHECK(status.find("secret") == std::string::npos);
}

}  // namespace cairn::test
