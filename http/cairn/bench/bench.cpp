// cairn bench: cairn beside what a user would do instead, in one run.
#include "http/cairn/bench/child_server.hpp"
#include "http/cairn/bench/comparison.hpp"
#include "http/cairn/bench/machine.hpp"
#include "http/cairn/bench/postgres_cluster.hpp"
#include "http/cairn/verbs.hpp"
#include "runtime/log.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <regex>
#include <set>

namespace cairn::program {
namespace {

using namespace cairn::bench;

// A folder of the bench's own in the one that was named.
class scratch_folder {
public:
    explicit scratch_folder(const std::string& in) {
        std::string path = in + "/cairn-bench-XXXXXX";
        if (::mkdtemp(path.data()) == nullptr) {
            throw std::system_error(errno, std::generic_category(), "cannot make " + path);
        }
        path_ = path;
    }
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

std::string side_text(const char* who, const measured& side) {
    return fmt::format("  {:5}  {:>9.1f}  ({:.1f} .. {:.1f})  p50 {:.0f} us  p99 {:.0f} us  {}\n",
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

void print(const comparison& row, const verdict& result) {
    std::printf("%s (%s)\n%s%s  ratio %.2f%s\n", row.name.c_str(), row.unit.c_str(),
                side_text("ours", result.ours).c_str(), side_text("rival", result.rival).c_str(),
                result.ratio, target_text(row, result.ratio).c_str());
    std::fflush(stdout);
}

boost::json::object to_json(const measured& side) {
    boost::json::object fields;
    fields["what"] = side.what;
    fields["median"] = side.median.value;
    fields["min"] = side.min;
    fields["max"] = side.max;
    fields["p50_us"] = side.median.p50_us;
    fields["p99_us"] = side.median.p99_us;
    return fields;
}

boost::json::object to_json(const comparison& row, const verdict& result) {
    boost::json::object fields;
    fields["name"] = row.name;
    fields["unit"] = row.unit;
    fields["durability"] = "full";
    if (!row.note.empty()) fields["note"] = row.note;
    fields["ratio"] = result.ratio;
    fields["must"] = row.must;
    fields["aim"] = row.aim;
    fields["ours"] = to_json(result.ours);
    fields["rival"] = to_json(result.rival);
    return fields;
}

boost::json::object to_json(const machine& on, double syncs_before, double syncs_after) {
    boost::json::object fields;
    fields["cpu"] = on.cpu;
    fields["cores"] = on.cores;
    fields["kernel"] = on.kernel;
    fields["file_system"] = on.file_system;
    fields["fdatasync_per_second_before"] = syncs_before;
    fields["fdatasync_per_second_after"] = syncs_after;
    return fields;
}

std::vector<comparison> chosen_rows(const std::string& pattern) {
    const std::regex wanted(pattern, std::regex::icase);
    std::vector<comparison> rows;
    for (comparison& row : all_rows()) {
        if (std::regex_search(row.name, wanted)) rows.push_back(std::move(row));
    }
    if (rows.empty()) throw usage_error("no row's name matches \"" + pattern + "\"");
    return rows;
}

void print_head(const bench_options& options,
                const std::vector<comparison>& rows,
                const machine& on,
                double syncs) {
    std::printf(
        "%s, %u cores, Linux %s, %s, %.0f fdatasync/s; durability full; %zu runs of %.1f s\n",
        on.cpu.c_str(), on.cores, on.kernel.c_str(), on.file_system.c_str(), syncs, options.repeat,
        std::chrono::duration<double>(options.time).count());
    std::set<std::string> notes;
    for (const comparison& row : rows) notes.insert(row.note);
    for (const std::string& note : notes) {
        if (!note.empty()) std::printf("%s\n", note.c_str());
    }
    const auto left_out = [](const char* rival) {
        std::fprintf(stderr, "cairn: %s is not installed, its rows are left out\n", rival);
    };
    if (!child_server::has_nginx()) left_out("nginx");
    if (!postgres_cluster::is_installed()) left_out("PostgreSQL");
}

}  // namespace

int bench(const bench_options& options) {
    set_log_level(log_level::warn);
    const auto rows = chosen_rows(options.rows);
    const scratch_folder scratch(options.data);
    const machine on = this_machine(scratch.path());
    const double syncs_before = sync_rate(scratch.path());
    if (!options.json) print_head(options, rows, on, syncs_before);
    boost::json::array results;
    for (const comparison& row : rows) {
        const verdict result = compare(row, scratch.path(), options.time, options.repeat);
        if (options.json) {
            results.push_back(to_json(row, result));
        } else {
            print(row, result);
        }
    }
    const double syncs_after = sync_rate(scratch.path());
    if (options.json) {
        boost::json::object all;
        all["machine"] = to_json(on, syncs_before, syncs_after);
        all["rows"] = std::move(results);
        std::printf("%s\n", boost::json::serialize(all).c_str());
    } else {
        std::printf("%.0f fdatasync/s after\n", syncs_after);
    }
    return exit_done;
}

}  // namespace cairn::program
