#include "tests/support/faulty_vfs.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <sqlite3.h>

namespace cairn::test {
namespace {

struct state {
    std::atomic<int> failing_call{-1};
    std::atomic<int> how{0};
    std::atomic<std::size_t> counts[2] = {};
    std::atomic<fault_plan*> syncs{nullptr};
};

state& plan() {
    static state instance;
    return instance;
}

sqlite3_vfs* real_vfs = nullptr;

// One of ours wraps one of theirs, which lies right behind it.
struct wrapped_file {
    sqlite3_file base;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* real_of(sqlite3_file* file) { return reinterpret_cast<wrapped_file*>(file)->real(); }

// The result code with which the call fails, if it shall.
std::optional<int> failure_of(faulty_vfs::call kind, int io_code) {
    state& now = plan();
    ++now.counts[static_cast<int>(kind)];
    if (now.failing_call != static_cast<int>(kind)) return std::nullopt;
    if (now.how == static_cast<int>(faulty_vfs::error::no_space)) {
        return SQLITE_FULL;  // what the Unix VFS makes of ENOSPC
    }
    return io_code;
}

int on_write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    if (auto code = failure_of(faulty_vfs::call::write, SQLITE_IOERR_WRITE)) return *code;
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xWrite(real, data, size, offset);
}

int on_sync(sqlite3_file* file, int flags) {
    if (auto code = failure_of(faulty_vfs::call::sync, SQLITE_IOERR_FSYNC)) return *code;
    fault_plan* const planned = plan().syncs;
    if (planned != nullptr) {
        return planned->admit(file_call::sync) ? SQLITE_OK : SQLITE_IOERR_FSYNC;
    }
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xSync(real, flags);
}

int on_close(sqlite3_file* file) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xClose(real);
}
int on_read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xRead(real, data, size, offset);
}
int on_truncate(sqlite3_file* file, sqlite3_int64 size) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xTruncate(real, size);
}
int on_size(sqlite3_file* file, sqlite3_int64* size) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xFileSize(real, size);
}
int on_lock(sqlite3_file* file, int level) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xLock(real, level);
}
int on_unlock(sqlite3_file* file, int level) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xUnlock(real, level);
}
int on_reserved(sqlite3_file* file, int* out) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xCheckReservedLock(real, out);
}
int on_control(sqlite3_file* file, int op, void* argument) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xFileControl(real, op, argument);
}
int on_sector_size(sqlite3_file* file) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xSectorSize(real);
}
int on_characteristics(sqlite3_file* file) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xDeviceCharacteristics(real);
}
int on_shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** out) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xShmMap(real, region, size, extend, out);
}
int on_shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xShmLock(real, offset, count, flags);
}
void on_shm_barrier(sqlite3_file* file) {
    sqlite3_file* const real = real_of(file);
    real->pMethods->xShmBarrier(real);
}
int on_shm_unmap(sqlite3_file* file, int remove) {
    sqlite3_file* const real = real_of(file);
    return real->pMethods->xShmUnmap(real, remove);
}

const sqlite3_io_methods methods = [] {
    sqlite3_io_methods list{};
    list.iVersion = 2;
    list.xClose = on_close;
    list.xRead = on_read;
    list.xWrite = on_write;
    list.xTruncate = on_truncate;
    list.xSync = on_sync;
    list.xFileSize = on_size;
    list.xLock = on_lock;
    list.xUnlock = on_unlock;
    list.xCheckReservedLock = on_reserved;
    list.xFileControl = on_control;
    list.xSectorSize = on_sector_size;
    list.xDeviceCharacteristics = on_characteristics;
    list.xShmMap = on_shm_map;
    list.xShmLock = on_shm_lock;
    list.xShmBarrier = on_shm_barrier;
    list.xShmUnmap = on_shm_unmap;
    return list;
}();

int on_open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
    sqlite3_file* const real = real_of(file);
    file->pMethods = nullptr;
    const int code = real_vfs->xOpen(real_vfs, name, real, flags, out_flags);
    if (code == SQLITE_OK) file->pMethods = &methods;
    return code;
}

// Registered once and never unregistered: connections may still be using it.
sqlite3_vfs& wrapper() {
    static sqlite3_vfs instance = [] {
        real_vfs = sqlite3_vfs_find(nullptr);
        sqlite3_vfs made = *real_vfs;
        made.zName = "cairn-faulty";
        made.szOsFile = static_cast<int>(sizeof(wrapped_file)) + real_vfs->szOsFile;
        made.xOpen = on_open;
        made.pNext = nullptr;
        return made;
    }();
    return instance;
}

}  // namespace

faulty_vfs::faulty_vfs(fault_plan* syncs) {
    heal();
    plan().syncs = syncs;
    if (sqlite3_vfs_register(&wrapper(), 1) != SQLITE_OK) throw std::bad_alloc();
}

faulty_vfs::~faulty_vfs() {
    heal();
    plan().syncs = nullptr;
    sqlite3_vfs_register(real_vfs, 1);
}

void faulty_vfs::fail(call kind, error how) {
    plan().how = static_cast<int>(how);
    plan().failing_call = static_cast<int>(kind);
}

void faulty_vfs::heal() { plan().failing_call = -1; }

std::size_t faulty_vfs::count(call kind) const { return plan().counts[static_cast<int>(kind)]; }

}  // namespace cairn::test
