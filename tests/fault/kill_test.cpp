// kill -9 at random moments under load: what was acknowledged is there after every restart, and the
// restart takes no longer with a full store.
#include "tests/fault/audit.hpp"
#include "tests/fault/crash_counts.hpp"
#include "tests/fault/expect_nothing.hpp"
#include "tests/fault/ledger.hpp"
#include "tests/fault/workload.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

#include <chrono>
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
void kill_while_starting(const std::string& data_dir, std::mt19937_64& random) {
    process starting(
        {program_under_test(), "serve", "--data", data_dir, "--listen", "127.0.0.1:0"});
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    starting.kill(SIGKILL);
    REQUIRE(starting.wait(30s));
}

}  // namespace

TEST_CASE("kill -9 under load: nothing acknowledged is lost, nothing deleted comes back") {
    const std::size_t rounds = crash_count(200);
    const temp_dir folder;
    const std::string data_dir = folder / "data";
    std::mt19937_64 random(crash_seed());
    ledger promises;
    {
        server_process server(program_under_test(), data_dir);
        const double blobs = blobs_before * std::min(1.0, crash_scale());
        fill(promises, server.port(), static_cast<std::size_t>(blobs), random());
        server.kill_hard();
    }

    std::chrono::milliseconds slowest_start{0};
    std::vector<promised_blob> before;
    for (std::size_t round = 0; round < rounds; ++round) {
        CAPTURE(round);
        if (random() % 4 == 0) kill_while_starting(data_dir, random);
        server_process server(program_under_test(), data_dir);
        CHECK(server.start_time() <= ready_within);
        slowest_start = std::max(slowest_start, server.start_time());
        const std::vector<promised_blob> after = promises.copy();
        if (round > 0)
            expect_nothing(broken_promises(server.port(), round_and_sample(before, after, random)));
        before = after;

        workload load(promises, server.port(), random());
        std::this_thread::sleep_for(50ms + std::chrono::milliseconds(random() % 350));
        server.kill_hard();
        load.stop();
        expect_nothing(load.complaints());
    }

    server_process server(program_under_test(), data_dir);
    const std::vector<promised_blob> all = promises.copy();
    expect_nothing(broken_promises(server.port(), all));
    expect_nothing(broken_listing(server.port(), all));
    CHECK(server.stop().status == 0);
    expect_nothing(unaccounted(data_dir));
    MESSAGE(rounds << " kills, " << all.size() << " blobs, slowest start " << slowest_start.count()
                   << " ms");
}

}  // namespace cairn::test
