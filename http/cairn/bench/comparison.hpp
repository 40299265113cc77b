// Ours against a rival: runs in turn, so that a disk's moods hit both, and the ratio of medians.
#pragma once

#include "http/cairn/bench/contender.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace cairn::bench {

// One row of the table in README.md.
struct comparison {
    std::string name;
    std::string unit;  // of the samples' values
    bool smaller_is_better = false;
    double must = 0;  // of the ratio, written so that more is better; 0: no target
    double aim = 0;
    using maker = std::function<std::unique_ptr<contender>(std::filesystem::path folder)>;
    maker ours;
    maker rival;
    std::string note;  // how a server that both sides share is set up
};

struct measured {
    std::string what;
    terms under;
    sample median;
    double min = 0;
    double max = 0;
};

struct verdict {
    measured ours;
    measured rival;
    double ratio = 0;      // 0 where there is none
    std::string no_ratio;  // why: the sides ran under unequal terms
};

// How long and how often each side runs.
struct pace {
    run_time time{std::chrono::seconds(1)};
    std::size_t repeat = 5;
};

// Each side is warmed up, then both run in turn. `folder` is empty before and after.
verdict compare(const comparison& row, const std::filesystem::path& folder, pace at);

}  // namespace cairn::bench
