#include "store/backups.hpp"

#include "runtime/deadline.hpp"
#include "runtime/log.hpp"
#include "runtime/run_on.hpp"

#include <algorithm>
#include <boost/system/errc.hpp>
#include <ctime>
#include <fmt/chrono.h>
#include <new>
#include <utility>

namespace cairn {
namespace {

using clock = std::chrono::system_clock;

constexpr const char* unfinished_name = "catalog.new";
constexpr std::string_view name_begin = "catalog-";
constexpr std::string_view name_end = ".db";

// A start is no moment for a backup.
constexpr auto first_wait = std::chrono::minutes(1);
constexpr auto look_again = std::chrono::minutes(1);

std::filesystem::path folder_of(const std::filesystem::path& data) { return data / "backups"; }

std::string name_now() {
    const auto now = std::chrono::time_point_cast<std::chrono::seconds>(clock::now());
    return fmt::format("{}{:%Y%m%dT%H%M%SZ}{}", name_begin, fmt::gmtime(now), name_end);
}

// The one turn there is, if nobody has it; given back when this goes.
class turn {
public:
    explicit turn(std::atomic<bool>& busy) : busy_(busy), taken_(!busy.exchange(true)) {}
    ~turn() {
        if (taken_) busy_ = false;
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    explicit operator bool() const noexcept { return taken_; }

private:
    std::atomic<bool>& busy_;
    const bool taken_;
};

awaitable<result<std::vector<std::string>>> backups_in(file_system& files,
                                                       std::filesystem::path folder) {
    auto names = co_await files.list(std::move(folder));
    if (!names && names.error() == boost::system::errc::no_such_file_or_directory) {
        co_return std::vector<std::string>();
    }
    if (!names) co_return names.error();
    std::erase_if(*names, [](const std::string& name) { return !backup_time(name); });
    co_return names;
}

}  // namespace

std::optional<std::chrono::sys_seconds> backup_time(std::string_view name) {
    if (!name.starts_with(name_begin) || !name.ends_with(name_end)) return std::nullopt;
    std::tm fields{};
    const std::string text(name.substr(name_begin.size(), name.size() - name_begin.size()));
    const char* const end = ::strptime(text.c_str(), "%Y%m%dT%H%M%SZ.db", &fields);
    if (end == nullptr || *end != '\0') return std::nullopt;
    return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&fields)));
}

awaitable<result<std::optional<std::filesystem::path>>> newest_backup(file_system& files,
                                                                      std::filesystem::path data) {
    const std::filesystem::path folder = folder_of(data);
    const auto names = co_await backups_in(files, folder);
    if (!names) co_return names.error();
    std::optional<std::filesystem::path> newest;
    if (!names->empty()) newest = folder / names->back();
    co_return newest;
}

backups::backups(executor home, catalog& rows, file_system& files, std::filesystem::path data)
    : home_(home), rows_(rows), files_(files), data_(std::move(data)), scope_(home) {}

awaitable<result<backup>> backups::make() {
    const turn mine(busy_);
    if (!mine) co_return error_code(errc::overloaded);
    auto made = co_await make_alone();
    if (!made) {
        log_error("backup", "no backup of {}: {}", data_.string(), made.error().message());
        (void)co_await files_.remove(folder_of(data_) / unfinished_name);
        co_return made;
    }
    log_info("backup", "{}: {} bytes", (folder_of(data_) / made->name).string(), made->size_bytes);
    co_return made;
}

awaitable<result<backup>> backups::make_alone() {
    const std::filesystem::path folder = folder_of(data_);
    const std::filesystem::path fresh = folder / unfinished_name;
    const std::string name = name_now();
    auto ready = co_await files_.make_directory(folder);
    if (ready) ready = co_await files_.sync_directory(data_);
    if (ready) ready = co_await files_.remove(fresh);
    if (!ready) co_return ready.error();
    const auto space = co_await files_.space(data_);
    if (!space) co_return space.error();
    // It must not be what fills the disk.
    const std::uint64_t size_bytes_max = space->free_bytes / 3;
    auto copied = co_await rows_.copy_to(fresh, size_bytes_max);
    if (!copied) co_return copied.error();
    auto in = co_await files_.open(fresh, open_mode::read_write);
    if (!in) co_return in.error();
    auto done = co_await (*in)->sync();
    if (done) done = co_await files_.rename(fresh, folder / name);
    if (done) done = co_await files_.sync_directory(folder);
    if (!done) co_return done.error();
    const auto size_bytes = co_await (*in)->size();
    if (!size_bytes) co_return size_bytes.error();
    auto cleaned = co_await remove_old();
    if (!cleaned) {
        log_warn("backup", "old backups stay in {}: {}", folder.string(),
                 cleaned.error().message());
    }
    co_return backup{name, *size_bytes};
}

awaitable<result<void>> backups::remove_old() {
    const std::filesystem::path folder = folder_of(data_);
    const auto names = co_await backups_in(files_, folder);
    if (!names) co_return names.error();
    for (std::size_t i = 0; i + backups_kept < names->size(); ++i) {
        const std::filesystem::path old = folder / (*names)[i];
        auto removed = co_await files_.remove(old);
        if (!removed) co_return removed.error();
    }
    co_return result<void>();
}

awaitable<void> backups::start(std::chrono::milliseconds every) {
    co_await run_on(home_, start_here(every));
}

awaitable<void> backups::start_here(std::chrono::milliseconds every) {
    scope_.spawn(run(every));
    co_return;
}

awaitable<void> backups::close() { co_await run_on(home_, stop_here()); }

awaitable<void> backups::stop_here() {
    scope_.request_stop();
    co_await scope_.join();
}

awaitable<void> backups::run(std::chrono::milliseconds every) {
    auto wait = std::min<std::chrono::milliseconds>(every, first_wait);
    while (true) {
        co_await sleep_for(wait);
        wait = std::min<std::chrono::milliseconds>(every, look_again);
        const auto made = co_await make_if_due(every);
        // Complained of once for each interval, not once a minute.
        if (!made) wait = every;
    }
}

awaitable<result<void>> backups::make_if_due(std::chrono::milliseconds every) {
    try {
        const auto names = co_await backups_in(files_, folder_of(data_));
        if (!names) co_return names.error();
        const bool is_due = names->empty() || *backup_time(names->back()) + every <= clock::now();
        if (!is_due) co_return result<void>();
        const auto made = co_await make();
        if (!made) co_return made.error();
        co_return result<void>();
    } catch (const std::bad_alloc&) {
        co_return make_error_code(boost::system::errc::not_enough_memory);
    }
}

}  // namespace cairn
