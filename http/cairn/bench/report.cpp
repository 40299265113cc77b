#include "http/cairn/bench/report.hpp"

#include <boost/json/array.hpp>
#include <fmt/format.h>

namespace cairn::bench {
namespace {

std::string side_text(const char* who, const measured& side) {
    return fmt::format("  {:5}  {:>9.1f}  ({:.1f} .. {:.1f})  p50 {:.1f} us  p99 {:.1f} us  {}\n",
                       who, side.median.value, side.min, side.max, side.median.p50_us,
                       side.median.p99_us, side.what);
}

std::string target_text(const comparison& row, double ratio) {
    if (row.must == 0) return "";
    const char* const met = ratio >= row.aim    ? "aim reached"
                            : ratio >= row.must ? "must reached"
                                                : "SHORT";
    return fmt::format(", must {}, aim {}: {}", row.must, row.aim, met);
}

std::string ratio_text(const comparison& row, const verdict& result) {
    if (!result.no_ratio.empty()) return "no ratio: " + result.no_ratio;
    return fmt::format("ratio {:.2f}{}", result.ratio, target_text(row, result.ratio));
}

std::string terms_text(const verdict& result) {
    const terms& ours = result.ours.under;
    std::string all;
    if (ours.does != work::reads) all += "durability " + ours.durability + "; ";
    if (ours.sync_delay.count() > 0) {
        all += fmt::format("{} ms on each sync; ", ours.sync_delay.count());
    }
    if (ours.head_bytes > 0) all += fmt::format("heads of {} bytes; ", ours.head_bytes);
    return all + "checks: " + ours.checks + " against " + result.rival.under.checks;
}

boost::json::object side_json(const measured& side) {
    boost::json::object fields;
    fields["what"] = side.what;
    fields["median"] = side.median.value;
    fields["min"] = side.min;
    fields["max"] = side.max;
    fields["p50_us"] = side.median.p50_us;
    fields["p99_us"] = side.median.p99_us;
    fields["checks"] = side.under.checks;
    return fields;
}

// What a row and a point of a series have in common.
boost::json::object to_json(const verdict& result) {
    boost::json::object fields;
    fields["durability"] = result.ours.under.durability;
    fields["sync_delay_ms"] = result.ours.under.sync_delay.count();
    if (result.no_ratio.empty()) {
        fields["ratio"] = result.ratio;
    } else {
        fields["ratio"] = nullptr;
        fields["no_ratio"] = result.no_ratio;
    }
    fields["ours"] = side_json(result.ours);
    fields["rival"] = side_json(result.rival);
    return fields;
}

}  // namespace

std::string to_text(const comparison& row, const verdict& result) {
    return fmt::format("{} ({})\n{}{}  {}\n  {}\n", row.name, row.unit,
                       side_text("ours", result.ours), side_text("rival", result.rival),
                       ratio_text(row, result), terms_text(result));
}

std::string to_text(const measured_series& of) {
    std::string all = fmt::format("{} ({}; p50, p99 in us)\n", of.name, of.unit);
    if (of.points.empty()) return all;
    const auto side = [](const sample& of_side) {
        return fmt::format("{:>10.1f} {:>9.1f} {:>9.1f}", of_side.value, of_side.p50_us,
                           of_side.p99_us);
    };
    all += fmt::format("  {:>12}  {:30}  {:30}\n", of.x_name, of.points.front().got.ours.what,
                       of.points.front().got.rival.what);
    for (const auto& [x, got] : of.points) {
        all += fmt::format("  {:>12.0f}  {}  {}  ratio {:.2f}\n", x, side(got.ours.median),
                           side(got.rival.median), got.ratio);
    }
    return all;
}

boost::json::object to_json(const comparison& row, const verdict& result) {
    boost::json::object fields = to_json(result);
    fields["name"] = row.name;
    fields["unit"] = row.unit;
    if (!row.note.empty()) fields["note"] = row.note;
    fields["must"] = row.must;
    fields["aim"] = row.aim;
    return fields;
}

boost::json::object to_json(const measured_series& of) {
    boost::json::object fields;
    fields["name"] = of.name;
    fields["x"] = of.x_name;
    fields["unit"] = of.unit;
    boost::json::array points;
    for (const auto& [x, got] : of.points) {
        boost::json::object point = to_json(got);
        point["x"] = x;
        points.push_back(std::move(point));
    }
    fields["points"] = std::move(points);
    return fields;
}

boost::json::object to_json(const machine& on) {
    boost::json::object fields;
    fields["cpu"] = on.cpu;
    fields["cores"] = on.cores;
    fields["kernel"] = on.kernel;
    fields["file_system"] = on.file_system;
    return fields;
}

}  // namespace cairn::bench
