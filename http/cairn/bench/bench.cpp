// cairn bench: cairn beside what a user would do instead, in one run.
#include "http/cairn/bench/machine.hpp"
#include "http/cairn/bench/memory_server.hpp"
#include "http/cairn/bench/postgres_cluster.hpp"
#include "http/cairn/bench/report.hpp"
#include "http/cairn/bench/series.hpp"
#include "http/cairn/bench/slow_disk.hpp"
#include "http/cairn/bench/slow_vfs.hpp"
#include "http/cairn/verbs.hpp"
#include "runtime/log.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sys/resource.h>

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

// A thousand rival connections have several files each.
void take_all_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

template <class Named>
std::vector<Named> matching(std::vector<Named> all, const std::string& pattern) {
    const std::regex wanted(pattern, std::regex::icase);
    const auto other = [&](const Named& each) { return !std::regex_search(each.name, wanted); };
    all.erase(std::remove_if(all.begin(), all.end(), other), all.end());
    return all;
}

// One run of the bench, on its folder, and what it found.
class bench_run {
public:
    explicit bench_run(const bench_options& options)
        : options_(options),
          how_(options.brief ? effort::brief : effort::whole),
          pace_{options.brief ? run_time(std::chrono::milliseconds(20)) : options.time,
                options.brief ? 1 : options.repeat},
          scratch_(options.data),
          on_(this_machine(scratch_.path())),
          syncs_before_(sync_rate(scratch_.path())) {}

    // On a disk whose syncs take so much longer.
    void measure(std::chrono::milliseconds sync_delay) {
        this_disk().set_delay(sync_delay);
        std::optional<slow_vfs> slow;
        if (sync_delay.count() > 0) slow.emplace();
        const auto rows = matching(all_rows(how_), options_.rows);
        const auto curves = matching(all_series(), options_.rows);
        if (rows.empty() && curves.empty()) {
            throw usage_error("no row's name matches \"" + options_.rows + "\"");
        }
        say(head(rows));
        for (const std::string& line : left_out())
            std::fprintf(stderr, "cairn: %s\n", line.c_str());
        // Making one for each would take longer than all else that is brief.
        const bool shares_server = std::any_of(
            rows.begin(), rows.end(), [](const comparison& row) { return !row.note.empty(); });
        std::shared_ptr<postgres_cluster> server;
        if (options_.brief && shares_server) {
            server = postgres_cluster::beside(scratch_.path() / "ours");
        }
        for (const comparison& row : rows) measure(row);
        for (const series& each : curves) measure(each);
    }
    void finish() {
        const double syncs_after = sync_rate(scratch_.path());
        say(fmt::format("{:.0f} fdatasync/s after\n", syncs_after));
        if (options_.json) print_json(syncs_after);
        if (!options_.svg.empty()) write_svg();
    }

private:
    std::vector<series> all_series() const {
        std::vector<series> all;
        if (options_.growth || !options_.svg.empty()) all = series_by_callers(how_);
        if (!options_.growth) return all;
        for (series& each : series_of_growth(how_, options_.blobs)) all.push_back(std::move(each));
        return all;
    }
    void measure(const comparison& row) {
        const verdict result = compare(row, scratch_.path(), pace_);
        rows_.push_back(to_json(row, result));
        say(to_text(row, result));
    }
    void measure(const series& each) {
        measured_series got{each.name, each.x_name, each.points.front().at.unit, {}};
        if (this_disk().delay().count() > 0) {
            got.name += fmt::format(", {} ms a sync", this_disk().delay().count());
        }
        for (const auto& [x, at] : each.points) {
            got.points.push_back({x, compare(at, scratch_.path(), pace_)});
        }
        series_.push_back(to_json(got));
        say(to_text(got));
        for (panel& drawn : panels_of(got)) panels_.push_back(std::move(drawn));
    }
    std::string head(const std::vector<comparison>& rows) const {
        std::string all = fmt::format(
            "{}, {} cores, Linux {}, {}, {:.0f} fdatasync/s; {} ms more a sync; {} runs of {} ms\n",
            on_.cpu, on_.cores, on_.kernel, on_.file_system, syncs_before_,
            this_disk().delay().count(), pace_.repeat,
            std::chrono::duration_cast<std::chrono::milliseconds>(pace_.time).count());
        std::set<std::string> notes;
        for (const comparison& row : rows) notes.insert(row.note);
        for (const std::string& note : notes) {
            if (!note.empty()) all += note + "\n";
        }
        return all;
    }
    void say(const std::string& text) const {
        if (options_.json) return;
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
    }
    void print_json(double syncs_after) {
        boost::json::object machine = to_json(on_);
        machine["fdatasync_per_second_before"] = syncs_before_;
        machine["fdatasync_per_second_after"] = syncs_after;
        boost::json::object all;
        all["machine"] = std::move(machine);
        all["rows"] = std::move(rows_);
        if (!series_.empty()) all["series"] = std::move(series_);
        std::printf("%s\n", boost::json::serialize(all).c_str());
    }
    void write_svg() const {
        std::ofstream file(options_.svg);
        file << to_svg(panels_);
        if (!file.flush()) throw std::runtime_error("cannot write " + options_.svg);
    }

    const bench_options& options_;
    const effort how_;
    const pace pace_;
    const scratch_folder scratch_;
    const machine on_;
    const double syncs_before_;
    boost::json::array rows_;
    boost::json::array series_;
    std::vector<panel> panels_;
};

}  // namespace

int bench(const bench_options& options) {
    set_log_level(log_level::warn);
    if (options.serve_memory) return serve_memory();
    take_all_descriptors();
    bench_run run(options);
    for (const std::chrono::milliseconds delay : options.sync_delays) run.measure(delay);
    run.finish();
    return exit_done;
}

}  // namespace cairn::program
