#include "store/rebuild.hpp"

#include "engines/segments/scan.hpp"
#include "engines/segments/segment_name.hpp"
#include "engines/sqlite/catalog_copy.hpp"
#include "engines/sqlite/schema.hpp"
#include "engines/sqlite/sqlite_catalog.hpp"
#include "runtime/log.hpp"
#include "runtime/side_by_side.hpp"
#include "store/backups.hpp"
#include "store/folder.hpp"
#include "store/salvage.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/chrono.h>
#include <functional>
#include <map>
#include <utility>

namespace cairn {
namespace {

namespace fs = std::filesystem;

// Changes that share a commit.
constexpr std::size_t changes_at_once = 256;
constexpr std::size_t page_rows = 10'000;

// A catalog's file, and what SQLite and the writer keep beside it.
constexpr const char* catalog_name = "catalog.db";
constexpr const char* fresh_name = "catalog.rebuilt.db";
constexpr const char* log_suffix = "-wal";
constexpr const char* index_suffix = "-shm";
constexpr const char* reserve_suffix = "-reserve";

fs::path with_suffix(fs::path path, const char* suffix) { return path += suffix; }

error_code said(const error_code& why, const char* what, const fs::path& path) {
    log_error("rebuild", "cannot {} {}: {}", what, path.string(), why.message());
    return why;
}

// What a catalog says of itself.
struct identity {
    std::string incarnation;
    std::uint64_t boot = 0;
};

// Nothing when the file is damaged or is a copy. Reads all of it.
std::optional<identity> sound_catalog(const fs::path& path) {
    auto opened = sqlite::database::open(path, sqlite::role::reader);
    if (!opened) return std::nullopt;
    const auto taken_at = sqlite::copy_taken_at(*opened);
    if (!taken_at || *taken_at) return std::nullopt;
    const auto complaints = sqlite::integrity_complaints(*opened);
    if (!complaints || !complaints->empty()) return std::nullopt;
    const auto name = sqlite::incarnation(*opened);
    const auto boot = sqlite::last_boot(*opened);
    if (!name || !boot) return std::nullopt;
    return identity{*name, *boot};
}

class rebuilder {
public:
    rebuilder(runtime& threads,
              file_system& files,
              folder& home,
              rebuild_options options,
              rebuild_watcher& watcher)
        : threads_(threads),
          files_(files),
          salvaged_(files),
          home_(home),
          options_(std::move(options)),
          watcher_(watcher),
          fresh_(home.path() / fresh_name) {}

    awaitable<result<rebuild_report>> run();

private:
    awaitable<bool> is_needless();
    awaitable<result<void>> choose_base();
    awaitable<result<void>> begin();
    awaitable<result<void>> fill();
    awaitable<result<void>> know_segments();
    awaitable<result<void>> sync_segment(std::uint64_t segment);
    awaitable<result<void>> judge_rows();
    awaitable<result<void>> judge_records();
    awaitable<result<void>> judge_segment(std::uint64_t segment);
    awaitable<result<bool>> judge_record(std::shared_ptr<file> in, found_record record);
    bool is_waiting(const blob_id& id) const;
    awaitable<result<void>> commit_later(change what);
    awaitable<result<void>> commit_all();
    awaitable<result<void>> take_place();
    awaitable<result<void>> set_old_aside();
    awaitable<result<void>> remove_fresh();
    awaitable<result<void>> remove_companions();

    runtime& threads_;
    file_system& files_;
    salvage salvaged_;
    folder& home_;
    const rebuild_options options_;
    rebuild_watcher& watcher_;
    const fs::path fresh_;
    rebuild_report report_;
    fail_stop stop_;
    std::unique_ptr<sqlite_catalog> rows_;
    std::map<std::uint64_t, bool> segments_;  // whose files are there; whether sealed in the backup
    std::vector<change> waiting_;
};

awaitable<result<rebuild_report>> rebuilder::run() {
    const bool needless = co_await is_needless();
    if (needless) {
        report_.needless = true;
        co_return report_;
    }
    auto done = co_await choose_base();
    if (done) done = co_await begin();
    if (!done) co_return done.error();
    done = co_await fill();
    co_await rows_->close();
    if (done) done = co_await take_place();
    if (!done) co_return done.error();
    co_return report_;
}

awaitable<bool> rebuilder::is_needless() {
    if (options_.force) co_return false;
    const fs::path path = home_.catalog_path();
    auto look = [&path] { return sound_catalog(path); };
    const auto sound = co_await threads_.pool().run(std::move(look));
    if (!sound) co_return false;
    const auto fits = co_await home_.expect_catalog(sound->incarnation, sound->boot + 1);
    co_return fits.has_value();
}

awaitable<result<void>> rebuilder::choose_base() {
    report_.from = options_.from;
    if (!report_.from.empty()) co_return result<void>();
    auto newest = co_await newest_backup(files_, home_.path());
    if (!newest) co_return said(newest.error(), "look for backups in", home_.path());
    report_.from = newest->value_or(fs::path());
    co_return result<void>();
}

// The new catalog, with the backup's rows. Its boot is higher than that of any segment.
awaitable<result<void>> rebuilder::begin() {
    auto numbers = co_await list_segments(files_, home_.segments_path());
    if (!numbers) co_return said(numbers.error(), "list", home_.segments_path());
    for (const std::uint64_t segment : *numbers) segments_[segment] = false;
    const std::uint64_t boot = numbers->empty() ? 0 : numbers->back() >> 32;
    auto removed = co_await remove_fresh();
    if (!removed) co_return said(removed.error(), "remove", fresh_);
    auto make = [this, boot] { return sqlite::begin_catalog(fresh_, report_.from, boot); };
    auto begun = co_await threads_.pool().run(std::move(make));
    if (!begun) co_return said(begun.error(), "begin with", report_.from);
    report_.taken_at_us = *begun;
    auto opened = co_await sqlite_catalog::open(threads_, fresh_, stop_);
    if (!opened) co_return said(opened.error(), "open", fresh_);
    rows_ = std::move(*opened);
    co_return result<void>();
}

awaitable<result<void>> rebuilder::fill() {
    auto done = co_await know_segments();
    if (done) done = co_await judge_rows();
    if (done) done = co_await judge_records();
    if (done) done = co_await commit_all();
    if (!done) co_return said(done.error(), "fill", fresh_);
    co_return done;
}

// Every file gets a row, so that nothing is left that nobody accounts for. Rows stay unsealed: the
// next start of the store ends them where their last record ends.
awaitable<result<void>> rebuilder::know_segments() {
    std::uint64_t after = 0;
    std::map<std::uint64_t, bool> unknown = segments_;
    while (true) {
        auto page = co_await rows_->segments(after, page_rows, false);
        if (!page) co_return page.error();
        for (const segment_row& each : *page) {
            const auto here = segments_.find(each.segment);
            if (here != segments_.end()) here->second = each.sealed;
            unknown.erase(each.segment);
            after = each.segment;
        }
        if (page->size() < page_rows) break;
    }
    for (const auto& [segment, sealed] : segments_) {
        if (sealed) continue;
        auto synced = co_await sync_segment(segment);
        if (!synced) co_return synced.error();
    }
    for (const auto& [segment, sealed] : unknown) {
        change opened = open_segment{segment};
        auto noted = co_await commit_later(std::move(opened));
        if (!noted) co_return noted.error();
    }
    co_return co_await commit_all();
}

// What is found may never have been synced, and a row must not be durable before its bytes.
awaitable<result<void>> rebuilder::sync_segment(std::uint64_t segment) {
    const fs::path path = home_.segments_path() / segment_name(segment);
    auto in = co_await files_.open(path, open_mode::read_write);
    if (!in) co_return said(in.error(), "open", path);
    auto synced = co_await (*in)->sync();
    if (!synced) co_return said(synced.error(), "sync", path);
    co_return synced;
}

// What the backup has and whose segment is gone.
awaitable<result<void>> rebuilder::judge_rows() {
    std::optional<blob_id> after;
    while (true) {
        auto page = co_await rows_->list(after, page_rows);
        if (!page) co_return page.error();
        for (const row& each : *page) {
            const listed_blob blob{each.id, each.size_bytes};
            const bool is_here = !each.where || segments_.contains(each.where->container);
            (is_here ? report_.kept : report_.lost).add(blob);
            if (is_here) continue;
            watcher_.lost(blob);
            change removal = remove_blob{each.id};
            auto noted = co_await commit_later(std::move(removal));
            if (!noted) co_return noted.error();
        }
        if (page->size() < page_rows) break;
        after = page->back().id;
    }
    co_return co_await commit_all();
}

// A sealed segment holds nothing that is newer than the backup: what has no row there was removed.
awaitable<result<void>> rebuilder::judge_records() {
    for (const auto& [segment, sealed] : segments_) {
        if (sealed) continue;
        auto judged = co_await judge_segment(segment);
        if (!judged) co_return judged.error();
    }
    report_.unreadable_bytes = salvaged_.unreadable_bytes();
    co_return result<void>();
}

// From its end, since a body may hold what looks like records: they lie in the record that ends
// behind them, and are none where that one is.
awaitable<result<void>> rebuilder::judge_segment(std::uint64_t segment) {
    const fs::path path = home_.segments_path() / segment_name(segment);
    const auto in = co_await salvaged_.open(path, open_mode::read);
    if (!in) co_return said(in.error(), "open", path);
    const auto found = co_await scan_segment(*in, segment, locator(), SIZE_MAX);
    if (!found) co_return said(found.error(), "read", path);
    std::uint64_t known_from = UINT64_MAX;
    for (auto each = found->rbegin(); each != found->rend(); ++each) {
        const locator& at = each->stored.at;
        if (at.offset + at.length_bytes > known_from) continue;
        watcher_.scanned(at.length_bytes);
        const auto is_one = co_await judge_record(*in, *each);
        if (!is_one) co_return is_one.error();
        if (*is_one) known_from = at.offset;
    }
    co_return co_await commit_all();
}

// Whether it is one: a row has it, or its bytes hash to its id.
awaitable<result<bool>> rebuilder::judge_record(std::shared_ptr<file> in, found_record record) {
    const auto standing = co_await rows_->find(record.id);
    if (!standing) co_return failed_bool(standing.error());
    const bool stands = *standing && !(*standing)->quarantined;
    if (stands && (*standing)->where == record.stored.at) co_return true;
    const auto whole = co_await is_whole(std::move(in), record);
    if (!whole || !*whole) {
        if (!stands) ++report_.bad_records;
        co_return false;
    }
    if (stands || is_waiting(record.id)) co_return true;
    const listed_blob blob{record.id, record.stored.size_bytes};
    report_.recovered.add(blob);
    watcher_.recovered(blob);
    change put = put_of(record);
    auto noted = co_await commit_later(std::move(put));
    if (!noted) co_return failed_bool(noted.error());
    co_return true;
}

bool rebuilder::is_waiting(const blob_id& id) const {
    const auto is_same = [&id](const change& other) {
        const auto* put = std::get_if<put_blob>(&other);
        return put != nullptr && put->id == id;
    };
    return std::any_of(waiting_.begin(), waiting_.end(), is_same);
}

awaitable<result<void>> rebuilder::commit_later(change what) {
    waiting_.push_back(std::move(what));
    if (waiting_.size() < changes_at_once) co_return result<void>();
    co_return co_await commit_all();
}

awaitable<result<void>> rebuilder::commit_all() {
    error_code failure;
    const std::function<awaitable<void>(std::size_t)> commit_one =
        [&](std::size_t index) -> awaitable<void> {
        change& what = waiting_[index];
        auto done = co_await rows_->commit(std::move(what));
        if (!done) failure = done.error();
    };
    co_await side_by_side(waiting_.size(), waiting_.size(), commit_one);
    waiting_.clear();
    if (failure) co_return failure;
    co_return result<void>();
}

// From the first rename to the last the folder refuses to be opened, because its marker names
// another catalog than the one that is in place.
awaitable<result<void>> rebuilder::take_place() {
    const fs::path log = with_suffix(fresh_, log_suffix);
    auto left = co_await files_.open(log, open_mode::read);
    if (left) {
        const auto size_bytes = co_await (*left)->size();
        const bool is_whole = size_bytes && *size_bytes == 0;
        if (!is_whole) co_return said(errc::corrupt, "finish the log of", fresh_);
    }
    auto done = co_await remove_companions();
    if (done) done = co_await set_old_aside();
    if (done) done = co_await files_.rename(fresh_, home_.catalog_path());
    if (done) done = co_await files_.sync_directory(home_.path());
    if (done) done = co_await home_.take_catalog(rows_->incarnation(), rows_->boot());
    if (!done) co_return said(done.error(), "put in place", fresh_);
    co_return done;
}

// The log first: a catalog without its log is older than its folder, and refused as such.
awaitable<result<void>> rebuilder::set_old_aside() {
    auto there = co_await files_.open(home_.catalog_path(), open_mode::read);
    if (!there) co_return result<void>();
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    const std::string name = fmt::format("before-rebuild-{:%Y%m%dT%H%M%SZ}", fmt::gmtime(now));
    const fs::path aside = home_.path() / name;
    auto done = co_await files_.make_directory(aside);
    if (!done) co_return done;
    const fs::path log = with_suffix(home_.catalog_path(), log_suffix);
    const auto has_log = co_await files_.open(log, open_mode::read);
    if (has_log) done = co_await files_.rename(log, aside / log.filename());
    if (done) done = co_await files_.rename(home_.catalog_path(), aside / catalog_name);
    if (done) done = co_await files_.remove(with_suffix(home_.catalog_path(), index_suffix));
    if (done) done = co_await files_.sync_directory(aside);
    if (done) report_.old_catalog = aside / catalog_name;
    co_return done;
}

awaitable<result<void>> rebuilder::remove_fresh() {
    auto done = co_await files_.remove(fresh_);
    if (done) done = co_await remove_companions();
    co_return done;
}

awaitable<result<void>> rebuilder::remove_companions() {
    result<void> done;
    for (const char* suffix : {log_suffix, index_suffix, reserve_suffix}) {
        if (done) done = co_await files_.remove(with_suffix(fresh_, suffix));
    }
    co_return done;
}

}  // namespace

awaitable<result<rebuild_report>> rebuild(runtime& threads,
                                          rebuild_options options,
                                          rebuild_watcher& watcher) {
    std::unique_ptr<file_system> files = open_file_system(threads, options.io);
    if (options.wrap_files) files = options.wrap_files(std::move(files));
    const fs::path data = options.data;
    auto home = co_await folder::open(threads, *files, data, options.allow_weak_storage);
    if (!home) co_return home.error();
    rebuilder work(threads, *files, **home, std::move(options), watcher);
    co_return co_await work.run();
}

}  // namespace cairn
