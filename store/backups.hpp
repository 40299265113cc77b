// Backups of the catalog: copies of its file under DIR/backups, from which `cairn rebuild` begins.
//
// A backup holds every row, so every small blob; the bytes of larger ones stay in the segments,
// which a rebuild reads. It appears under its name, catalog-<UTC time>.db, when it is complete and
// durable; the newest `backups_kept` stay. A backup that fails costs nothing but itself.
#pragma once

#include "engines/catalog.hpp"
#include "io/file.hpp"
#include "runtime/result.hpp"
#include "runtime/task_scope.hpp"
#include "store/store.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

inline constexpr std::size_t backups_kept = 2;

class backups {
public:
    // Everything outlives it; `data` is the store's folder. What it does by itself runs on `home`.
    backups(executor home, catalog& rows, file_system& files, std::filesystem::path data);

    // Makes one; any executor. errc::overloaded while another is being made; errc::no_space also
    // when it would leave the disk less than twice its own size; otherwise the errors of
    // catalog::copy_to() and of files. Cancelled: throws, and leaves nothing under a backup's name.
    awaitable<result<backup>> make();

    // Begins to make one whenever the newest is older than `every`; any executor, at most once.
    awaitable<void> start(std::chrono::milliseconds every);
    // Gives up the one in hand that it began by itself, and ends.
    awaitable<void> close();

private:
    awaitable<result<backup>> make_alone();
    awaitable<result<void>> remove_old();
    awaitable<void> start_here(std::chrono::milliseconds every);
    awaitable<void> run(std::chrono::milliseconds every);
    awaitable<result<void>> make_if_due(std::chrono::milliseconds every);
    awaitable<void> stop_here();

    const executor home_;
    catalog& rows_;
    file_system& files_;
    const std::filesystem::path data_;
    std::atomic<bool> busy_ = false;
    task_scope scope_;
};

// When the backup of that name was begun; nothing for a name that is no backup's.
std::optional<std::chrono::sys_seconds> backup_time(std::string_view name);

// The newest backup under `data`, a store's folder; nothing when there is none.
awaitable<result<std::optional<std::filesystem::path>>> newest_backup(file_system& files,
                                                                      std::filesystem::path data);

}  // namespace cairn
