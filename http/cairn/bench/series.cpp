#include "http/cairn/bench/series.hpp"

#include "http/cairn/bench/puts.hpp"
#include "http/cairn/bench/reads.hpp"
#include "http/cairn/bench/sizes.hpp"

#include <algorithm>
#include <functional>

namespace cairn::bench {
namespace {

using values = std::vector<std::size_t>;

comparison unnamed(const char* unit) {
    comparison row;
    row.unit = unit;
    return row;
}

comparison puts_like_sqlite(put_load load) {
    comparison row = unnamed("puts/s");
    row.ours = [load](auto folder) { return embedded_puts(folder, load); };
    row.rival = [load](auto folder) { return sqlite_puts(folder, load); };
    return row;
}

comparison gets_like_sqlite(read_load load) {
    comparison row = unnamed("gets/s");
    row.ours = [load](auto folder) { return embedded_reads(folder, load); };
    row.rival = [load](auto folder) { return sqlite_reads(folder, load); };
    return row;
}

comparison puts_like_files(std::size_t size_bytes) {
    const put_load load{size_bytes, 1};
    comparison row = unnamed("puts/s");
    row.ours = [load](auto folder) { return embedded_puts(folder, load); };
    row.rival = [load](auto folder) { return file_puts(folder, load, publish::rename); };
    return row;
}

comparison gets_like_files(std::size_t size_bytes, effort how) {
    // One empty blob is all that there can be.
    const std::size_t whole =
        size_bytes == 0 ? 1 : std::clamp<std::size_t>(GiB / 4 / size_bytes, 1, 1000);
    const read_load load{size_bytes, 1, how == effort::whole ? whole : 1};
    comparison row = unnamed("gets/s");
    row.ours = [load](auto folder) { return embedded_reads(folder, load); };
    row.rival = [load](auto folder) { return file_reads(folder, load); };
    return row;
}

series plan(std::string name,
            std::string x_name,
            const values& at,
            const std::function<comparison(std::size_t x)>& make) {
    series made{std::move(name), std::move(x_name), {}};
    for (const std::size_t x : at) made.points.push_back({static_cast<double>(x), make(x)});
    return made;
}

// From 1,000, a hundredfold each.
values blob_counts(std::size_t max) {
    values counts;
    for (std::size_t n = 1000; n < max; n *= 100) counts.push_back(n);
    counts.push_back(max);
    return counts;
}

line drawn(const measured_series& of,
           std::string name,
           stroke how,
           const std::function<double(const verdict&)>& y) {
    line made{std::move(name), how, {}};
    for (const auto& point : of.points) made.points.push_back({point.x, y(point.got)});
    return made;
}

}  // namespace

std::vector<series> series_by_callers(effort how) {
    const values callers = how == effort::whole ? values{1, 4, 16, 64, 256, 1024} : values{1, 16};
    const std::size_t blobs = how == effort::whole ? 20'000 : 64;
    const auto puts = [](std::size_t x) { return puts_like_sqlite({KiB, x}); };
    const auto gets = [blobs](std::size_t x) { return gets_like_sqlite({KiB, x, blobs}); };
    return {plan("fresh put 1 KiB by callers", "callers", callers, puts),
            plan("get 1 KiB by callers", "callers", callers, gets)};
}

std::vector<series> series_of_growth(effort how, std::size_t blobs_max) {
    const bool is_whole = how == effort::whole;
    const values blobs = is_whole ? blob_counts(blobs_max) : values{10, 100};
    // The empty blob is put once, so fresh puts begin where bytes can differ.
    const values put_sizes =
        is_whole ? values{16, KiB, 64 * KiB, MiB, 16 * MiB, 256 * MiB, GiB} : values{16, MiB};
    values get_sizes = put_sizes;
    get_sizes.insert(get_sizes.begin(), 0);
    // More threads than a few wait for seconds in SQLite.
    const std::size_t putters = is_whole ? 64 : 4;
    const auto puts = [=](std::size_t x) { return puts_like_sqlite({KiB, putters, x}); };
    const auto gets = [](std::size_t x) { return gets_like_sqlite({KiB, 32, x}); };
    const auto sized_gets = [how](std::size_t x) { return gets_like_files(x, how); };
    return {plan("fresh put 1 KiB by blobs, " + caller_text(putters), "blobs there", blobs, puts),
            plan("get 1 KiB by blobs, 32 callers", "blobs there", blobs, gets),
            plan("fresh put by size, 1 caller", "bytes", put_sizes, puts_like_files),
            plan("get by size, 1 caller", "bytes", get_sizes, sized_gets)};
}

std::vector<panel> panels_of(const measured_series& of) {
    const auto rate = [](const measured& side) { return side.median.value; };
    const auto p50 = [](const measured& side) { return side.median.p50_us; };
    const auto p99 = [](const measured& side) { return side.median.p99_us; };
    const auto ours = [](auto y) { return [y](const verdict& got) { return y(got.ours); }; };
    const auto rival = [](auto y) { return [y](const verdict& got) { return y(got.rival); }; };
    panel rates{of.name, of.x_name, of.unit, {}};
    rates.lines.push_back(drawn(of, "cairn", stroke::ours, ours(rate)));
    rates.lines.push_back(drawn(of, "instead", stroke::rival, rival(rate)));
    panel times{of.name + ": latency", of.x_name, "us", {}};
    times.lines.push_back(drawn(of, "cairn p50", stroke::ours, ours(p50)));
    times.lines.push_back(drawn(of, "cairn p99", stroke::ours_dashed, ours(p99)));
    times.lines.push_back(drawn(of, "instead p50", stroke::rival, rival(p50)));
    times.lines.push_back(drawn(of, "instead p99", stroke::rival_dashed, rival(p99)));
    return {std::move(rates), std::move(times)};
}

}  // namespace cairn::bench
