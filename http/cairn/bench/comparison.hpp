// Ours against a rival: runs in turn, so that a disk's moods hit both, and the ratio of medians.
#pragma once

#include "http/cairn/bench/contender.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

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
    sample median;
    double min = 0;
    double max = 0;
};

struct verdict {
    measured ours;
    measured rival;
    double ratio = 0;
};

// Each side is warmed up, then both run `repeat` times in turn. `folder` is empty before and after.
verdict compare(const comparison& row,
                const std::filesystem::path& folder,
                run_time time,
                std::size_t repeat);

// Every row that this bench has.
std::vector<comparison> all_rows();

}  // namespace cairn::bench
