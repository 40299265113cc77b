#include "http/cairn/bench/chart.hpp"

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <doctest/doctest.h>
#include <sstream>

namespace cairn::bench {
namespace {

bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

boost::property_tree::ptree parsed(const std::string& svg) {
    std::istringstream in(svg);
    boost::property_tree::ptree tree;
    boost::property_tree::read_xml(in, tree);
    return tree;
}

const panel one{"puts & gets <fast>",
                "callers",
                "puts/s",
                {{"cairn", stroke::ours, {{1, 10}, {10, 100}, {100, 1000}}}}};

}  // namespace

TEST_CASE("chart: it is well-formed, whatever its words, and names its axes") {
    const std::string svg = to_svg({one, one, one});
    CHECK(parsed(svg).count("svg") == 1);
    CHECK(parsed(svg).get_child("svg").count("g") == 3);
    CHECK(mentions(svg, "puts &amp; gets &lt;fast>"));
    CHECK(mentions(svg, ">callers<"));
    CHECK(mentions(svg, ">puts/s<"));
    CHECK(mentions(svg, "prefers-color-scheme: dark"));
}

TEST_CASE("chart: equal ratios are equal distances") {
    const std::string svg = to_svg({one});
    CHECK(mentions(svg, "points=\"64.0,256.0 244.0,156.0 424.0,56.0 \""));
}

TEST_CASE("chart: a zero is drawn at the lower end, and no point at all is an empty chart") {
    panel zero = one;
    zero.lines[0].points = {{0, 10}, {10, 100}};
    const std::string svg = to_svg({zero});
    CHECK(mentions(svg, "points=\"64.0,256.0 "));
    CHECK_FALSE(mentions(svg, "nan"));
    CHECK_FALSE(mentions(svg, "inf"));
    CHECK(parsed(to_svg({})).count("svg") == 1);
}

}  // namespace cairn::bench
