// Charts as SVG text, readable on light and dark pages. Both axes are logarithmic.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cairn::bench {

enum class stroke { ours, ours_dashed, rival, rival_dashed };

struct line {
    std::string name;
    stroke how = stroke::ours;
    std::vector<std::pair<double, double>> points;  // in the order of x
};

struct panel {
    std::string title;
    std::string x_name;
    std::string y_name;
    std::vector<line> lines;
};

// The panels, two in a row. A zero, which has no logarithm, is drawn at the lower end of its axis.
std::string to_svg(const std::vector<panel>& panels);

}  // namespace cairn::bench
