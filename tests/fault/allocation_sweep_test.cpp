// Every allocation of a store fails once, and all from it on: the store answers with an error or
// ends its process, and what was acknowledged is there afterwards. tests/README.md says which
// allocations end the process, and why.
#include "tests/fault/crash_counts.hpp"
#include "tests/fault/expect_nothing.hpp"
#include "tests/fault/store_script.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

#include <chrono>
#include <cstdlib>
#include <doctest/doctest.h>
#include <sstream>
#include <string>
#include <vector>

namespace cairn::test {
namespace {

struct swept {
    std::vector<std::string> complaints;
    std::size_t runs = 0;
    std::size_t ended = 0;
};

swept sweep(const temp_dir& folder, const script& which, const std::string& how) {
    // Opening takes thousands of allocations, the steps of a script hundreds.
    const bool opens = which.name == "create" || which.name == "recover";
    const std::uint64_t stride = crash_stride(opens ? 1009 : 67);
    process helper({std::getenv("CAIRN_ALLOCATION_SWEEP"), folder.path().string(),
                    std::string(which.name), std::to_string(1 + crash_seed() % stride),
                    std::to_string(stride), how});
    swept all;
    std::istringstream lines(helper.read_all());
    for (std::string line; std::getline(lines, line);) {
        std::string word;
        std::istringstream words(line);
        if (words >> word && word == "runs") {
            words >> all.runs >> word >> all.ended;
        } else {
            all.complaints.push_back(std::string(which.name) + " " + how + ": " + line);
        }
    }
    const auto report = helper.wait(std::chrono::seconds(10));
    if (!report || report->status > 1) all.complaints.push_back("the helper failed");
    return all;
}

}  // namespace

TEST_CASE("allocation sweep: without memory no answer is wrong and nothing acknowledged is lost") {
    const temp_dir folder;
    {
        runtime threads({.threads = 1, .blocking_threads = 2});
        prepare_stores(threads, folder.path());
    }
    for (const script& each : scripts()) {
        for (const char* how : {"once", "for-good"}) {
            const swept all = sweep(folder, each, how);
            CHECK(all.runs > 0);
            MESSAGE(std::string(each.name) << " " << how << ": " << all.runs << " runs, "
                                           << all.ended << " ended the process");
            expect_nothing(all.complaints);
        }
    }
}

}  // namespace cairn::test
