#include "http/cairn/bench/postgres.hpp"
#include "http/cairn/bench/postgres_cluster.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace cairn::bench {
namespace {

namespace fs = std::filesystem;

// Of pgbench's latencies, so that writing them down does not slow it.
constexpr const char* logged_share = "0.1";

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error("pgbench: " + why); }

// The number that follows `name` in pgbench's report.
double number_after(const std::string& report, std::string_view name) {
    const auto found = report.find(name);
    if (found == std::string::npos) fail("no \"" + std::string(name) + "\" in its report");
    return std::strtod(report.c_str() + found + name.size(), nullptr);
}

// Random bytes as a literal of SQL.
std::string literal_of(std::size_t size_bytes) {
    std::vector<std::byte> bytes(size_bytes);
    fresh_bytes().fill(bytes.data(), bytes.size());
    return "'\\x" + to_hex(bytes) + "'::bytea";
}

class pgbench final : public contender {
public:
    struct script {
        std::string what;
        std::string setup;  // SQL, run once
        std::string text;   // run by each client, again and again
        bool inserts = false;
    };

    pgbench(const fs::path& folder, std::size_t clients, script runs)
        : folder_(folder),
          clients_(std::to_string(clients)),
          runs_(std::move(runs)),
          cluster_(postgres_cluster::beside(folder)),
          url_(cluster_->create_database("rival")) {
        fs::create_directories(folder_);
        std::ofstream(folder_ / "script") << runs_.text;
        ask(runs_.setup);
    }
    std::string what() const override { return runs_.what; }
    terms runs_under() const override {
        terms under;
        under.does = runs_.inserts ? work::fresh_puts : work::reads;
        const std::string set =
            ask("SELECT current_setting('fsync') || '/' || current_setting('synchronous_commit')");
        under.durability = set.starts_with("on/on") ? "full" : "none";
        return under;
    }

    sample run(run_time time) override {
        const std::size_t before = runs_.inserts ? count() : 0;
        const std::string report = report_over(time);
        if (number_after(report, "number of failed transactions: ") > 0)
            fail("transactions failed");
        const double done = number_after(report, "transactions actually processed: ");
        if (runs_.inserts && count() - before != static_cast<std::size_t>(done)) {
            fail("rows are missing");
        }
        sample result = logged_latencies().rate_over(time);
        result.value = number_after(report, "tps = ");
        return result;
    }

private:
    std::string report_over(run_time time) const {
        const auto whole = std::chrono::ceil<std::chrono::seconds>(time).count();
        const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
        const std::size_t jobs = std::min(cores, std::stoul(clients_));
        return output_of({postgres_cluster::program("pgbench"), "-n", "-M", "prepared", "-c",
                          clients_, "-j", std::to_string(jobs), "-T", std::to_string(whole), "-f",
                          folder_ / "script", "-l", "--log-prefix=" + (folder_ / "log").string(),
                          "--sampling-rate", logged_share, url_});
    }
    // A line for each: client, number, microseconds, ...
    latencies logged_latencies() const {
        latencies all;
        for (const auto& entry : fs::directory_iterator(folder_)) {
            if (!entry.path().filename().string().starts_with("log")) continue;
            std::ifstream lines(entry.path());
            for (std::string line; std::getline(lines, line);) {
                std::istringstream fields(line);
                std::uint64_t client = 0, number = 0, us = 0;
                fields >> client >> number >> us;
                all.add(std::chrono::microseconds(us));
            }
            fs::remove(entry.path());
        }
        return all;
    }
    std::string ask(const std::string& sql) const {
        return output_of(
            {postgres_cluster::program("psql"), "-X", "-q", "-A", "-t", "-d", url_, "-c", sql});
    }
    std::size_t count() const { return std::stoul(ask("SELECT count(*) FROM blobs")); }

    const fs::path folder_;
    const std::string clients_;
    const script runs_;
    const std::shared_ptr<postgres_cluster> cluster_;
    const std::string url_;
};

constexpr const char* table = "CREATE TABLE blobs(id bytea PRIMARY KEY, value bytea NOT NULL)";

}  // namespace

// The value's random bytes stand in the statement, prepared once: pgbench sends less than cairn.
std::unique_ptr<contender> pgbench_puts(std::filesystem::path folder, put_load load) {
    pgbench::script script;
    script.what = "pgbench -M prepared, INSERT";
    script.setup = table;
    for (const char* name : {"a", "b", "c", "d"}) {
        script.text += std::string("\\set ") + name + " random(1, 9223372036854775806)\n";
    }
    const std::string id = "int8send(:a) || int8send(:b) || int8send(:c) || int8send(:d)";
    script.text += "INSERT INTO blobs(id, value) SELECT id, id || " +
                   literal_of(load.size_bytes - 32) + " FROM (SELECT " + id +
                   " AS id) AS fresh ON CONFLICT DO NOTHING;\n";
    script.inserts = true;
    return std::make_unique<pgbench>(folder, load.callers, std::move(script));
}

std::unique_ptr<contender> pgbench_reads(std::filesystem::path folder, read_load load) {
    const std::string rest = " || " + literal_of(24);
    pgbench::script script;
    script.what = "pgbench -M prepared, SELECT by id";
    script.setup = std::string(table) + "; INSERT INTO blobs SELECT int8send(n)" + rest +
                   ", int8send(n) || " + literal_of(load.size_bytes - 8) +
                   " FROM generate_series(1, " + std::to_string(load.blobs) +
                   ") AS n; ANALYZE blobs";
    script.text = "\\set n random(1, " + std::to_string(load.blobs) +
                  ")\nSELECT value FROM blobs WHERE id = int8send(:n)" + rest + ";\n";
    return std::make_unique<pgbench>(folder, load.callers, std::move(script));
}

}  // namespace cairn::bench
