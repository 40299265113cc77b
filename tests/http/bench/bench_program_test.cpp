// `cairn bench` as a program. What a run is checked for is that it works, never how fast it is.
#include "tests/http/program.hpp"

#include <boost/json/parse.hpp>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <set>

namespace cairn::test {
namespace {

boost::json::object measured(const temp_dir& dir, std::vector<std::string> words) {
    words.insert(words.begin(), {"bench", "--data", dir.path(), "--short", "--json"});
    const finished done = run(words);
    CAPTURE(done.errors);
    REQUIRE(done.status == 0);
    return boost::json::parse(done.output).as_object();
}

void check_side(const boost::json::object& side) {
    CHECK_FALSE(side.at("what").as_string().empty());
    CHECK_FALSE(side.at("checks").as_string().empty());
    CHECK(side.at("min").as_double() > 0);
    CHECK(side.at("min").as_double() <= side.at("median").as_double());
    CHECK(side.at("median").as_double() <= side.at("max").as_double());
    CHECK(side.at("p50_us").as_double() > 0);
    CHECK(side.at("p50_us").as_double() <= side.at("p99_us").as_double());
}

// A row's or a point's.
void check_result(const boost::json::object& result) {
    REQUIRE(result.at("ratio").is_double());  // null: the sides were not equal
    CHECK(result.at("ratio").as_double() > 0);
    CHECK(result.at("sync_delay_ms").as_int64() == 0);
    check_side(result.at("ours").as_object());
    check_side(result.at("rival").as_object());
}

}  // namespace

TEST_CASE("bench: every kind of row and curve runs, as JSON and as a well-formed chart") {
    if (program_is_missing()) return;
    const temp_dir dir;
    // PostgreSQL, which refuses root, runs as a user who has to pass.
    std::filesystem::permissions(dir.path(), std::filesystem::perms::others_exec,
                                 std::filesystem::perm_options::add);
    // Without those that take seconds and differ from others in a number alone.
    const char* const rows =
        "^(?!fresh put 1 KiB, 64 callers, embedded$"
        "|PostgreSQL (put 16 MiB|.*24 callers))";
    const auto all = measured(dir, {"--growth", "--svg", dir / "chart.svg", "--rows", rows});
    CHECK(all.at("machine").at("fdatasync_per_second_before").as_double() > 0);
    CHECK(all.at("machine").at("fdatasync_per_second_after").as_double() > 0);
    std::set<std::string> names;
    for (const auto& each : all.at("rows").as_array()) {
        const auto& row = each.as_object();
        CAPTURE(std::string(row.at("name").as_string()));
        CHECK(names.emplace(row.at("name").as_string()).second);
        CHECK_FALSE(row.at("unit").as_string().empty());
        CHECK_FALSE(row.at("durability").is_null());
        CHECK(row.at("must").to_number<double>() <= row.at("aim").to_number<double>());
        check_result(row);
    }
    CHECK(names.size() >= 26);  // those whose rival is always there
    const auto& curves = all.at("series").as_array();
    CHECK(curves.size() == 6);
    for (const auto& each : curves) {
        CAPTURE(std::string(each.at("name").as_string()));
        for (const auto& point : each.at("points").as_array()) check_result(point.as_object());
    }
    boost::property_tree::ptree chart;
    boost::property_tree::read_xml(dir / "chart.svg", chart);
    CHECK(chart.get_child("svg").count("g") == 2 * curves.size());
    CHECK(std::filesystem::remove(dir / "chart.svg"));
    CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("bench: a sync delay slows both sides of every row that it leaves") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const auto all =
        measured(dir, {"--sync-delay", "8", "--rows", "put 1 KiB, 1 caller|, against|, HTTP"});
    CHECK(all.at("rows").as_array().size() >= 3);
    for (const auto& row : all.at("rows").as_array()) {
        CAPTURE(std::string(row.at("name").as_string()));
        CHECK(row.at("sync_delay_ms").as_int64() == 8);
        CHECK(row.at("ratio").is_double());
        for (const char* side : {"ours", "rival"}) {
            CAPTURE(side);
            CHECK(row.at(side).at("p50_us").as_double() >= 8000);
        }
    }
}

TEST_CASE("bench: a name that no row has, and a delay that is none, are said") {
    if (program_is_missing()) return;
    const temp_dir dir;
    CHECK(run({"bench", "--data", dir.path(), "--rows", "no such row"}).status == 2);
    CHECK(run({"bench", "--data", dir.path(), "--sync-delay", "soon"}).status == 2);
    CHECK(std::filesystem::is_empty(dir.path()));
}

}  // namespace cairn::test
