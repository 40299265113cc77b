// One comparison at several values of something: callers, blobs that are there, bytes.
#pragma once

#include "http/cairn/bench/chart.hpp"
#include "http/cairn/bench/rows.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace cairn::bench {

struct series {
    std::string name;
    std::string x_name;
    struct point {
        double x = 0;
        comparison at;
    };
    std::vector<point> points;
};

struct measured_series {
    std::string name;
    std::string x_name;
    std::string unit;
    struct point {
        double x = 0;
        verdict got;
    };
    std::vector<point> points;
};

// Puts and gets of 1 KiB by 1 to 1,024 callers.
std::vector<series> series_by_callers(effort how);
// Puts and gets of 1 KiB with 1,000 to `blobs_max` blobs there; and by one caller, of up to 1 GiB.
std::vector<series> series_of_growth(effort how, std::size_t blobs_max);

// Two panels: the rate, and how long an operation takes.
std::vector<panel> panels_of(const measured_series& of);

}  // namespace cairn::bench
