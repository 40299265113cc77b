// kill -9 at random moments under load: what was acknowledged is there after every restart, and the
// restart takes no longer with a full store.
#include "tests/fault/audit.hpp"
#include "tests/fault/crash_counts.hpp"
#include "tests/fault/expect_nothing.hpp"
#include "tests/fault/ledger.hpp"
#include "tests/fault/quick_compaction.hpp"
#include "tests/fault/workload.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

#include <chrono>
#include <cstdlib>
#include <doctest/doctest.h>
#include <random>
#include <signal.h>
#include <string>
#include <thread>
#include <vector>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;

// A recovery that reads all of these cannot be ready in two seconds.
constexpr double blobs_before = 200'000;
constexpr auto ready_within = 2s;
constexpr std::size_t sampled = 1'000;

// What the last round touched, and a sample of what is older.
std::vector<promised_blob> round_and_sample(const std::vector<promised_blob>& before,
                                            const std::vector<promised_blob>& after,
                                            std::mt19937_64& random) {
    std::vector<promised_blob> chosen;
    for (std::size_t i = 0; i < after.size(); ++i)
        if (i >= before.size() || before[i].version != after[i].version) chosen.push_back(after[i]);
    for (std::size_t i = 0; i < sampled && !before.empty(); ++i)
        chosen.push_back(after[random() % before.size()]);
    return chosen;
}

// Kills a server while it recovers: recovery must bear its own crash.
void kill_while_starting(const std::string& program,
                         const std::string& data_dir,
                         std::mt19937_64& random) {
    process starting({program, "serve", "--data", data_dir, "--listen", "127.0.0.1:0"});
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    starting.kill(SIGKILL);
    REQUIRE(starting.wait(30s));
}

// What is killed, and what happened until then.
struct victim {
    const std::string program;
    const workload_options load;
    const std::string data_dir;
    std::mt19937_64 random{crash_seed()};
    ledger promises = {};
    std::chrono::milliseconds slowest_start{0};
    std::uint64_t moved = 0;
};

void kill_often(victim& of, std::size_t rounds) {
    std::vector<promised_blob> before;
    for (std::size_t round = 0; round < rounds; ++round) {
        CAPTURE(round);
        if (of.random() % 4 == 0) kill_while_starting(of.program, of.data_dir, of.random);
        server_process server(of.program, of.data_dir);
        CHECK(server.start_time() <= ready_within);
        of.slowest_start = std::max(of.slowest_start, server.start_time());
        const std::vector<promised_blob> after = of.promises.copy();
        if (round > 0)
            expect_nothing(
                broken_promises(server.port(), round_and_sample(before, after, of.random)));
        before = after;

        workload load(of.promises, server.port(), of.random(), of.load);
        std::this_thread::sleep_for(50ms + std::chrono::milliseconds(of.random() % 350));
        of.moved += moved_blobs(server.port());
        server.kill_hard();
        load.stop();
        expect_nothing(load.complaints());
    }
}

void check_all(const victim& of) {
    server_process server(of.program, of.data_dir);
    const std::vector<promised_blob> all = of.promises.copy();
    expect_nothing(broken_promises(server.port(), all));
    expect_nothing(broken_listing(server.port(), all));
    CHECK(server.stop().status == 0);
    expect_nothing(unaccounted(of.data_dir));
}

}  // namespace

TEST_CASE("kill -9 under load: nothing acknowledged is lost, nothing deleted comes back") {
    const std::size_t rounds = crash_count(200);
    const temp_dir folder;
    victim killed{.program = program_under_test(), .load = {}, .data_dir = folder / "data"};
    {
        server_process server(killed.program, killed.data_dir);
        const double blobs = blobs_before * std::min(1.0, crash_scale());
        fill(killed.promises, server.port(), static_cast<std::size_t>(blobs), killed.random());
        server.kill_hard();
    }
    kill_often(killed, rounds);
    check_all(killed);
    MESSAGE(rounds << " kills, " << killed.promises.size() << " blobs, slowest start "
                   << killed.slowest_start.count() << " ms");
}

TEST_CASE("kill -9 while it compacts: nothing acknowledged is lost, nothing deleted comes back") {
    const std::size_t rounds = crash_count(75);
    const temp_dir folder;
    victim killed{.program = std::getenv("CAIRN_COMPACTING_SERVER"),
                  .load = {.connections = 8, .size_max = 64 << 10, .removals = 40},
                  .data_dir = folder / "data"};
    kill_often(killed, rounds);
    check_all(killed);
    CHECK(killed.moved > rounds);  // or nothing was tried
    MESSAGE(rounds << " kills, " << killed.moved << " blobs moved before them");
}

}  // namespace cairn::test
