#include "http/cairn/bench/comparison.hpp"

#include <algorithm>
#include <vector>

namespace cairn::bench {
namespace {

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

measured summary(const contender& side, const std::vector<sample>& runs) {
    std::vector<double> values;
    std::vector<double> p50;
    std::vector<double> p99;
    for (const sample& each : runs) {
        values.push_back(each.value);
        p50.push_back(each.p50_us);
        p99.push_back(each.p99_us);
    }
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    const sample median{median_of(values), median_of(p50), median_of(p99)};
    return {side.what(), side.runs_under(), median, *min, *max};
}

}  // namespace

verdict compare(const comparison& row, const std::filesystem::path& folder, pace at) {
    verdict result;
    {
        const auto ours = row.ours(folder / "ours");
        const auto rival = row.rival(folder / "rival");
        ours->run(at.time / 4);
        rival->run(at.time / 4);
        std::vector<sample> our_runs;
        std::vector<sample> rival_runs;
        for (std::size_t i = 0; i < at.repeat; ++i) {
            our_runs.push_back(ours->run(at.time));
            rival_runs.push_back(rival->run(at.time));
        }
        result.ours = summary(*ours, our_runs);
        result.rival = summary(*rival, rival_runs);
    }
    std::filesystem::remove_all(folder / "ours");
    std::filesystem::remove_all(folder / "rival");
    result.no_ratio = unequal(result.ours.under, result.rival.under);
    const double ours = result.ours.median.value;
    const double rival = result.rival.median.value;
    if (result.no_ratio.empty()) {
        result.ratio = row.smaller_is_better ? rival / ours : ours / rival;
    }
    return result;
}

}  // namespace cairn::bench
