#include "http/cairn/bench/slow_vfs.hpp"

#include "http/cairn/bench/slow_disk.hpp"

#include <map>
#include <mutex>
#include <new>
#include <sqlite3.h>

namespace cairn::bench {
namespace {

using sync_function = int (*)(sqlite3_file*, int);

sqlite3_vfs* real_vfs = nullptr;
sync_function real_sync = nullptr;

int on_sync(sqlite3_file* file, int flags) {
    const int code = real_sync(file, flags);
    if (code == SQLITE_OK) this_disk().flush();
    return code;
}

// A real file's methods with our sync; null where its sync is another one. Files stay the real
// VFS's own, which has a few kinds of them (databases, logs).
const sqlite3_io_methods* slow_kind_of(const sqlite3_io_methods* real) {
    static std::mutex mutex;
    static std::map<const sqlite3_io_methods*, sqlite3_io_methods> kinds;
    std::lock_guard lock(mutex);
    if (real_sync == nullptr) real_sync = real->xSync;
    if (real->xSync != real_sync) return nullptr;
    const auto [kind, is_new] = kinds.try_emplace(real, *real);
    if (is_new) kind->second.xSync = on_sync;
    return &kind->second;
}

int on_open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
    const int code = real_vfs->xOpen(real_vfs, name, file, flags, out_flags);
    if (code != SQLITE_OK) return code;
    const sqlite3_io_methods* const slow = slow_kind_of(file->pMethods);
    if (slow == nullptr) {
        file->pMethods->xClose(file);
        return SQLITE_CANTOPEN;  // it would be faster than the others
    }
    file->pMethods = slow;
    return SQLITE_OK;
}

// Registered once and never unregistered.
sqlite3_vfs& wrapper() {
    static sqlite3_vfs instance = [] {
        real_vfs = sqlite3_vfs_find(nullptr);
        sqlite3_vfs made = *real_vfs;
        made.zName = "cairn-slow";
        made.xOpen = on_open;
        made.pNext = nullptr;
        return made;
    }();
    return instance;
}

}  // namespace

slow_vfs::slow_vfs() {
    sqlite3_vfs& slow = wrapper();
    if (sqlite3_vfs_register(&slow, 1) != SQLITE_OK) throw std::bad_alloc();
}

slow_vfs::~slow_vfs() { sqlite3_vfs_register(real_vfs, 1); }

std::chrono::milliseconds slow_vfs::delay_of(sqlite3* connection) {
    sqlite3_file* file = nullptr;
    sqlite3_file_control(connection, nullptr, SQLITE_FCNTL_FILE_POINTER, &file);
    const bool is_slow = file != nullptr && file->pMethods->xSync == on_sync;
    return is_slow ? this_disk().delay() : std::chrono::milliseconds(0);
}

}  // namespace cairn::bench
