// The PostgreSQL servers that other tests rely on do what they say.
#include "tests/support/postgres_server.hpp"

#include <chrono>
#include <doctest/doctest.h>
#include <stdexcept>
#include <thread>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;

// Whether a statement answers that within a few seconds.
bool comes_to(const postgres_server& server, const std::string& statement, const char* expected) {
    for (int i = 0; i < 200; ++i) {
        if (server.sql(statement) == expected) return true;
        std::this_thread::sleep_for(20ms);
    }
    return false;
}

}  // namespace

TEST_CASE("postgres server: it keeps what it says, for one database at a time") {
    if (no_postgres()) return;
    postgres_server& server = postgres_server::shared();
    CHECK(server.sql("SHOW fsync") == "on");
    CHECK(server.sql("SHOW full_page_writes") == "on");
    CHECK(server.sql("SHOW synchronous_commit") == "on");
    CHECK(server.sql("SHOW data_checksums") == "on");
    CHECK(server.sql("SHOW server_encoding") == "UTF8");
    CHECK(server.sql("SHOW listen_addresses") == "");

    const std::string mine = server.fresh_database();
    const std::string yours = server.fresh_database();
    server.sql("CREATE TABLE only_here(n int)", mine);
    CHECK(server.sql("SELECT count(*) FROM only_here", mine) == "0");
    CHECK_THROWS_AS(server.sql("SELECT count(*) FROM only_here", yours), std::runtime_error);
}

TEST_CASE("postgres server: what was committed survives an immediate stop") {
    if (no_postgres()) return;
    postgres_options options;
    options.tcp = true;
    options.settings = {"max_connections=20"};
    postgres_server server(options);
    const std::uint16_t port = server.port();
    server.sql("CREATE TABLE kept(n int)");
    server.sql("INSERT INTO kept VALUES (1)");
    server.restart(postgres_server::way::immediate);
    CHECK(server.sql("SELECT n FROM kept") == "1");
    CHECK(server.sql("SHOW max_connections") == "20");
    CHECK(server.port() == port);

    process by_port({"psql", "-XAt", server.url_by_port(port), "-c", "SELECT n FROM kept"});
    CHECK(by_port.read_line(10s) == "1");
}

TEST_CASE("postgres server: sessions can be ended, and the server brought down by one") {
    if (no_postgres()) return;
    postgres_server server;
    CHECK(server.terminate_backends() == 0);
    CHECK_FALSE(server.kill_backend());
    process session({"psql", "-XAt", server.url()});
    session.write("SELECT 'here';\n");
    REQUIRE(session.read_line(10s) == "here");
    CHECK(server.terminate_backends() == 1);
    session.write("SELECT 'gone';\n");
    session.close_input();
    CHECK(session.read_all() == "");

    process other({"psql", "-XAt", server.url()});
    other.write("SELECT 'here';\n");
    REQUIRE(other.read_line(10s) == "here");
    CHECK(server.kill_backend());
    other.write("SELECT 'gone';\n");
    other.close_input();
    CHECK(other.read_all() == "");
}

TEST_CASE("postgres server: standbys keep what a primary acknowledged, and take its place") {
    if (no_postgres()) return;
    postgres_server first;
    postgres_server second(first, "second");
    postgres_server third(first, "third");
    first.set("synchronous_standby_names", "FIRST 2 (second, third)");
    CHECK(
        comes_to(first, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", "2"));
    first.sql("CREATE TABLE kept(n int)");
    first.sql("INSERT INTO kept VALUES (1)");
    first.stop(postgres_server::way::immediate);

    second.promote();
    second.set("synchronous_standby_names", "third");
    third.follow(second);
    second.sql("INSERT INTO kept VALUES (2)");
    CHECK(second.sql("SELECT sum(n) FROM kept") == "3");
    CHECK(comes_to(third, "SELECT sum(n) FROM kept", "3"));
    CHECK(third.sql("SELECT pg_is_in_recovery()") == "t");
}

}  // namespace cairn::test
