// kill -9 at random moments on PostgreSQL: one server, and four that share a database.
#include "tests/fault/crash_counts.hpp"
#include "tests/fault/expect_nothing.hpp"
#include "tests/fault/ledger.hpp"
#include "tests/fault/postgres_audit.hpp"
#include "tests/fault/workload.hpp"
#include "tests/support/postgres_server.hpp"
#include "tests/support/process.hpp"

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

constexpr std::size_t members = 4;

// What died with its process may be swept now, and not in a minute.
void let_the_dead_go(const postgres_server& server, const std::string& database) {
    server.sql("UPDATE cairn.reclaim SET not_before = least(not_before, cairn.now_us())", database);
}

bool is_all_swept(const postgres_server& server, const std::string& database) {
    for (int i = 0; i < 400; ++i) {
        if (server.sql("SELECT count(*) FROM cairn.reclaim", database) == "0") return true;
        std::this_thread::sleep_for(50ms);
    }
    return false;
}

}  // namespace

TEST_CASE("postgres, kill -9 under load: nothing acknowledged is lost, nothing leaks") {
    if (no_postgres()) return;
    postgres_server& postgres = postgres_server::shared();
    const std::string database = postgres.fresh_database();
    const std::string url = postgres.url(database);
    const std::size_t rounds = is_set("CAIRN_LONG", "1") ? crash_count(100) : 8;
    std::mt19937_64 random(crash_seed());
    ledger promises;
    for (std::size_t round = 0; round < rounds; ++round) {
        CAPTURE(round);
        const char* bulk = round % 2 == 0 ? "chunks" : "large_objects";
        server_process server(program_under_test(), url, {"--bulk", bulk});
        if (round % 5 == 0) expect_nothing(broken_promises(server.port(), promises.copy()));
        workload load(promises, server.port(), random());
        std::this_thread::sleep_for(50ms + std::chrono::milliseconds(random() % 350));
        server.kill_hard();
        load.stop();
        expect_nothing(load.complaints());
    }
    server_process server(program_under_test(), url);
    const std::vector<promised_blob> all = promises.copy();
    expect_nothing(broken_promises(server.port(), all));
    expect_nothing(broken_listing(server.port(), all));
    expect_nothing(unaccounted(postgres, database));
    let_the_dead_go(postgres, database);
    CHECK(is_all_swept(postgres, database));
    CHECK(server.stop().status == 0);
    expect_nothing(unaccounted(postgres, database));
    MESSAGE(rounds << " kills, " << all.size() << " blobs");
}

TEST_CASE("postgres, four servers on one database, one killed now and then: all tell the same") {
    if (no_postgres()) return;
    postgres_server& postgres = postgres_server::shared();
    const std::string database = postgres.fresh_database();
    const std::string url = postgres.url(database);
    const std::size_t rounds = crash_count(40);
    std::mt19937_64 random(crash_seed());
    std::vector<std::unique_ptr<server_process>> servers;
    for (std::size_t i = 0; i < members; ++i) {
        servers.push_back(std::make_unique<server_process>(program_under_test(), url));
    }
    // One ledger each: a connection deletes only what it put itself, and all put the shared blobs.
    std::vector<ledger> promises(members);
    for (std::size_t round = 0; round < rounds; ++round) {
        CAPTURE(round);
        std::vector<std::unique_ptr<workload>> loads;
        workload_options options;
        options.connections = 4;
        for (std::size_t i = 0; i < members; ++i) {
            loads.push_back(
                std::make_unique<workload>(promises[i], servers[i]->port(), random(), options));
        }
        std::this_thread::sleep_for(50ms + std::chrono::milliseconds(random() % 350));
        const std::size_t victim = random() % members;
        servers[victim]->kill_hard();
        for (auto& each : loads) {
            each->stop();
            expect_nothing(each->complaints());
        }
        servers[victim] = std::make_unique<server_process>(program_under_test(), url);
    }
    std::vector<promised_blob> all;
    for (std::size_t i = 0; i < members; ++i) {
        for (const promised_blob& each : promises[i].copy()) all.push_back(each);
        // What one was told, another knows.
        const std::uint16_t elsewhere = servers[(i + 1) % members]->port();
        expect_nothing(broken_promises(elsewhere, promises[i].copy()));
    }
    for (const auto& each : servers) expect_nothing(broken_listing(each->port(), all));
    CHECK(postgres.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = '" + database +
                       "'") == "0");
    for (auto& each : servers) CHECK(each->stop().status == 0);
    expect_nothing(unaccounted(postgres, database));
    MESSAGE(rounds << " kills among " << members << " servers, " << all.size() << " blobs");
}

}  // namespace cairn::test
