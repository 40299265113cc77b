// Power cuts at random moments under load, on ext4: what was acknowledged before the cut is in
// every image that the cut could leave. A server that skips its data syncs proves that the test
// would see a loss.
#include "tests/fault/audit.hpp"
#include "tests/fault/crash_counts.hpp"
#include "tests/fault/expect_nothing.hpp"
#include "tests/fault/ledger.hpp"
#include "tests/fault/quick_compaction.hpp"
#include "tests/fault/workload.hpp"
#include "tests/support/power_cut_device.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

#include <chrono>
#include <cstdlib>
#include <doctest/doctest.h>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t disk_bytes = 8ull << 30;  // sparse; one session fills a small part
constexpr std::size_t cuts_per_session = 10;

struct outcome {
    std::size_t images = 0;
    std::size_t promises = 0;   // checked, over all images
    std::size_t unflushed = 0;  // writes that no flush covered, over all images
    std::uint64_t moved = 0;    // blobs that compaction moved meanwhile
    std::vector<std::string> complaints;

    void add(const std::vector<std::string>& more) {
        complaints.insert(complaints.end(), more.begin(), more.end());
    }
};

// Opens one image as a server would after the power came back, and reads every promise back.
void check_image(const std::filesystem::path& image,
                 const std::vector<promised_blob>& promises,
                 outcome& result) {
    const temp_dir folder("cairn-image");
    const mounted_image mounted(image, folder / "mounted");
    const std::filesystem::path data_dir = mounted.path() / "data";
    try {
        server_process server(program_under_test(), data_dir);
        result.add(broken_promises(server.port(), promises));
        result.add(broken_listing(server.port(), promises));
        if (server.stop().status != 0) result.add({"the server did not end well"});
        result.add(unaccounted(data_dir));
    } catch (const std::runtime_error& failure) {
        result.add({failure.what()});
    }
}

// With CAIRN_KEEP_IMAGES, a folder, images that show a loss stay there as the cut left them.
class kept_image {
public:
    explicit kept_image(const std::filesystem::path& image) {
        const char* folder = std::getenv("CAIRN_KEEP_IMAGES");
        if (!folder) return;
        copy_ = std::filesystem::path(folder) /
                (std::to_string(::getpid()) + "-" + std::to_string(count_++));
        process copying({"cp", "--sparse=always", image.string(), copy_.string()});
        copying.wait(60s);
    }
    ~kept_image() {
        if (!wanted_ && !copy_.empty()) std::filesystem::remove(copy_);
    }
    kept_image(const kept_image&) = delete;
    kept_image& operator=(const kept_image&) = delete;

    void keep() { wanted_ = true; }

private:
    static inline int count_ = 0;
    std::filesystem::path copy_;
    bool wanted_ = false;
};

// One disk, one server under load, several cuts: each is a moment at which the power could have
// gone.
void run_session(const std::string& program,
                 const workload_options& as,
                 std::size_t cuts,
                 std::mt19937_64& random,
                 outcome& result) {
    const temp_dir images("cairn-images");
    power_cut_device device(std::getenv("CAIRN_POWER_CUT_DISK"), disk_bytes);
    server_process server(program, device.path() / "data");
    ledger promises;
    for (std::size_t cut = 0; cut < cuts; ++cut) {
        const std::filesystem::path image = images / std::to_string(cut);
        workload load(promises, server.port(), random(), as);
        std::this_thread::sleep_for(20ms + std::chrono::milliseconds(random() % 200));
        const std::vector<promised_blob> before = promises.copy();
        const auto report = device.cut(image, random());
        const std::vector<promised_blob> after = promises.copy();
        load.stop();
        result.add(load.complaints());
        if (load.lost_connections() != 0) result.add({"the server hung up"});

        kept_image evidence(image);
        const std::size_t so_far = result.complaints.size();
        check_image(image, standing(before, after), result);
        for (std::size_t i = so_far; i < result.complaints.size(); ++i)
            result.complaints[i].insert(0, "image " + std::to_string(result.images) + ": ");
        if (result.complaints.size() > so_far) evidence.keep();
        std::filesystem::remove(image);
        result.unflushed += report.unflushed;
        result.promises += after.size();
        ++result.images;
    }
    result.moved += moved_blobs(server.port());
    if (server.stop().status != 0) result.add({"the server did not end well"});
}

outcome run(const std::string& program,
            std::size_t images,
            const workload_options& as = {.connections = 8, .size_max = 1u << 20}) {
    outcome result;
    std::mt19937_64 random(crash_seed());
    while (result.images < images) {
        const std::size_t cuts = std::min(cuts_per_session, images - result.images);
        run_session(program, as, cuts, random, result);
    }
    return result;
}

bool cannot_cut() {
    const auto why = power_cuts_unavailable();
    if (!why) return false;
    if (is_set("CI", "true")) FAIL("no power cuts here: " << *why);
    MESSAGE("skipped: no power cuts here: " << *why);
    return true;
}

}  // namespace

TEST_CASE("power cut under load: nothing acknowledged is lost, nothing deleted comes back") {
    if (cannot_cut()) return;
    const outcome result = run(program_under_test(), crash_count(200));
    expect_nothing(result.complaints);
    MESSAGE(result.images << " images, " << result.promises << " promises checked, "
                          << result.unflushed << " writes in flight");
}

TEST_CASE("power cut while it compacts: nothing acknowledged is lost, nothing deleted comes back") {
    if (cannot_cut()) return;
    const outcome result = run(std::getenv("CAIRN_COMPACTING_SERVER"), crash_count(50),
                               {.connections = 8, .size_max = 64 << 10, .removals = 40});
    expect_nothing(result.complaints);
    CHECK(result.moved > result.images);  // or nothing was tried
    MESSAGE(result.images << " images, " << result.promises << " promises checked, " << result.moved
                          << " blobs moved");
}

TEST_CASE("power cut under load: a store that skips its data syncs is caught") {
    if (cannot_cut()) return;
    const outcome result = run(std::getenv("CAIRN_UNSYNCED_SERVER"), 3);
    CHECK(result.complaints.size() > 0);
}

}  // namespace cairn::test
