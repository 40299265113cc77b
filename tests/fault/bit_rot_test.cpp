// Bits that rot in every file of a store: no wrong byte is ever given out as good, nothing crashes
// or hangs, what is healthy is served, and what is put again is healthy (SAFETY.md R5).
//
// The catalog's tables have no checksums of their own: damage there may hide a row, which then is
// absent, or end in an error of SQLite; and the end of the log that is cut off looks like a power
// cut. So only what damaged segments may do to other blobs is ruled out here.
#include "engines/segments/segment_name.hpp"
#include "runtime/log.hpp"
#include "store/open_store.hpp"
#include "tests/fault/crash_counts.hpp"
#include "tests/fault/expect_nothing.hpp"
#include "tests/fault/prepared_store.hpp"
#include "tests/fault/quick_compaction.hpp"
#include "tests/fault/rot.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/temp_dir.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <sqlite3.h>
#include <string>
#include <vector>

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

constexpr auto patience = std::chrono::seconds(20);

// The last one is compacted while it is read.
constexpr std::array to_rot{prepared::full, prepared::crashed, prepared::sparse};

constexpr std::array put_again{actor::small,  actor::shared,       actor::streamed,
                               actor::rotten, actor::rotten_value, actor::new_shared};

struct place_of_record {
    std::string file;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

// Where each blob's record lies, as the catalog of a healthy store says.
std::map<actor, place_of_record> records_of(const fs::path& folder) {
    std::map<actor, place_of_record> found;
    sqlite3* catalog = nullptr;
    sqlite3_stmt* query = nullptr;
    REQUIRE(sqlite3_open((folder / "catalog.db").c_str(), &catalog) == SQLITE_OK);
    sqlite3_prepare_v2(catalog,
                       "SELECT container, offset, offset + length FROM blobs"
                       " WHERE id = ?1 AND container IS NOT NULL",
                       -1, &query, nullptr);
    for (std::size_t i = 0; i < actor_count; ++i) {
        const blob_id& id = blob_of(actor_at(i)).id;
        sqlite3_bind_blob(query, 1, id.bytes.data(), int(id.bytes.size()), SQLITE_STATIC);
        if (sqlite3_step(query) == SQLITE_ROW) {
            const auto column = [query](int at) {
                return static_cast<std::uint64_t>(sqlite3_column_int64(query, at));
            };
            found[actor_at(i)] = {segment_name(column(0)), column(1), column(2)};
        }
        sqlite3_reset(query);
    }
    sqlite3_finalize(query);
    sqlite3_close(catalog);
    return found;
}

class rotting {
public:
    rotting() {
        prepare_stores(threads_, folder_.path());
        for (const prepared each : to_rot) {
            expectations unused;
            const fs::path copy = folder_ / "look";
            copy_prepared(folder_.path(), each, copy, unused);
            records_[each] = records_of(copy);
            fs::remove_all(copy);
        }
    }

    void run(std::uint64_t seed) {
        std::mt19937_64 random(seed);
        const prepared which = to_rot[random() % to_rot.size()];
        const fs::path place = folder_ / "run";
        copy_prepared(folder_.path(), which, place, now_);
        const auto files = files_of(place);
        const fs::path& victim = files[random() % files.size()];
        damage_ = rot(victim, random);
        running_ = "seed " + std::to_string(seed) + ", " + fs::relative(victim, place).string() +
                   " " + damage_.what + ": ";
        complaints_here_.clear();
        in_segment_ = victim.parent_path().filename() == "segments";
        in_catalog_ = victim.filename().string().starts_with("catalog.db");
        const auto& records = records_[which];
        spoilt_.clear();
        for (const auto& [blob, at] : records) {
            const bool hit =
                at.file == victim.filename() && damage_.begin < at.end && damage_.end > at.begin;
            if (hit) spoilt_.push_back(blob);
        }
        finish(open_and_use(place));
        for (const auto& each : complaints_here_) complaints_.push_back(running_ + each);
        fs::remove_all(place);
    }

    const std::vector<std::string>& complaints() const { return complaints_; }
    std::string summary() const {
        return std::to_string(refused_) + " not opened, " + std::to_string(bad_) +
               " reads refused, " + std::to_string(absent_) + " absent, " + std::to_string(good_) +
               " good";
    }

private:
    static std::vector<fs::path> files_of(const fs::path& place) {
        std::vector<fs::path> files;
        for (const auto& each : fs::recursive_directory_iterator(place))
            if (each.is_regular_file()) files.push_back(each.path());
        std::sort(files.begin(), files.end());
        return files;
    }

    void complain(actor which, const std::string& what) {
        complaints_here_.push_back(std::string(blob_of(which).name) + ": " + what);
    }

    bool must_be_good(actor which) const {
        if (now_.of[static_cast<std::size_t>(which)] != expected::present || in_catalog_)
            return false;
        return std::find(spoilt_.begin(), spoilt_.end(), which) == spoilt_.end();
    }

    awaitable<void> open_and_use(fs::path place) {
        store_options with;
        with.data = place;
        with.io = io_choice::pool;
        with.compaction = quick_compaction();
        auto opened = co_await open_store(threads_, with);
        if (!opened) {
            ++refused_;
            if (in_segment_) complaints_here_.push_back("not opened: " + opened.error().message());
            co_return;
        }
        const std::unique_ptr<store> in = std::move(*opened);
        co_await await_compaction(*in);
        for (std::size_t i = 0; i < actor_count; ++i) co_await get(*in, actor_at(i));
        (void)co_await in->list(std::nullopt, 100);
        (void)co_await in->status();
        for (const actor each : put_again) co_await put_and_get(*in, each);
        (void)co_await in->remove(blob_of(actor::wide).id);
        co_await in->close();
    }

    awaitable<result<std::string>> read(store& in, actor which) {
        const byte_range whole;
        auto opened = co_await in.get(blob_of(which).id, whole);
        if (!opened) co_return opened.error();
        if (!*opened) co_return error_code(errc::absent);
        const std::unique_ptr<source> from = std::move(*opened);
        co_return co_await read_all(*from);
    }

    awaitable<void> get(store& in, actor which) {
        const auto answer = co_await read(in, which);
        if (answer) {
            ++good_;
            if (*answer != blob_of(which).bytes.text()) complain(which, "WRONG BYTES");
            co_return;
        }
        ++(answer.error() == errc::absent ? absent_ : bad_);
        if (must_be_good(which)) complain(which, "not served: " + answer.error().message());
    }

    awaitable<void> put_and_get(store& in, actor which) {
        buffer_source from(blob_of(which).bytes);
        const std::optional<blob_id> claim = blob_of(which).id;
        auto done = co_await in.put(from, claim);
        if (!done && !in_catalog_) complain(which, "cannot be put: " + done.error().message());
        const auto answer = co_await read(in, which);
        if (answer && *answer != blob_of(which).bytes.text()) complain(which, "WRONG BYTES, put");
        if (!answer && !in_catalog_) {
            complain(which, "put and not served: " + answer.error().message());
        }
    }

    void finish(awaitable<void> work) {
        auto ends =
            asio::co_spawn(threads_.next().get_executor(), std::move(work), asio::use_future);
        if (ends.wait_for(patience) == std::future_status::ready) return ends.get();
        std::fprintf(stderr, "%shangs\n", running_.c_str());
        std::abort();
    }

    temp_dir folder_;
    runtime threads_{{.threads = 1, .blocking_threads = 2}};
    std::map<prepared, std::map<actor, place_of_record>> records_;
    expectations now_;
    damage damage_;
    std::vector<actor> spoilt_;
    bool in_segment_ = false;
    bool in_catalog_ = false;
    std::string running_;
    std::vector<std::string> complaints_here_;
    std::vector<std::string> complaints_;
    std::size_t refused_ = 0;
    std::size_t good_ = 0;
    std::size_t bad_ = 0;
    std::size_t absent_ = 0;
};

}  // namespace

TEST_CASE("bit rot: no wrong byte is good, nothing crashes, what is healthy is served (R5)") {
    const double full = is_set("CAIRN_LONG", "1") ? 10'000 : 300;
    const auto mutations = static_cast<std::size_t>(full * crash_scale());
    set_log_level(log_level::off);
    rotting stores;
    for (std::size_t i = 0; i < mutations; ++i) {
        const std::uint64_t seed = crash_seed() * 1'000'000 + i;
        CAPTURE(seed);
        stores.run(seed);
    }
    set_log_level(log_level::info);
    MESSAGE(mutations << " mutations: " << stores.summary());
    expect_nothing(stores.complaints());
}

}  // namespace cairn::test
