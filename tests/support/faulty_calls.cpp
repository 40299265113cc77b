#include "tests/support/faulty_calls.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cairn::test {
namespace {

std::atomic<fault_plan*> active{nullptr};

// What shall become of a call, as the plan says. SQLite repeats what a signal interrupted for as
// long as it takes, so of two calls in a row only one is.
std::optional<fault_kind> due(file_call call) {
    static thread_local bool was_interrupted = false;
    fault_plan* const plan = active.load();
    if (plan == nullptr) return std::nullopt;
    auto kind = plan->next(call);
    if (kind == fault_kind::interrupted && was_interrupted) kind = std::nullopt;
    was_interrupted = kind == fault_kind::interrupted;
    return kind;
}

// True, with errno set, when the call fails.
bool fails(file_call call) {
    const auto kind = due(call);
    if (!kind || *kind == fault_kind::short_transfer) return false;
    errno = error_number_of(*kind);
    return true;
}

// How much of a transfer is made: all, a part, or (nothing) it fails.
std::optional<std::size_t> admitted(file_call call, std::size_t size_bytes) {
    const auto kind = due(call);
    if (!kind) return size_bytes;
    if (*kind == fault_kind::short_transfer) return std::max<std::size_t>(1, size_bytes / 2);
    errno = error_number_of(*kind);
    return std::nullopt;
}

// SQLite's names for its system calls, and ours in their place.
int (*real_open)(const char*, int, int) = nullptr;
int (*real_truncate)(int, off_t) = nullptr;
int (*real_stat)(int, struct stat*) = nullptr;
int (*real_unlink)(const char*) = nullptr;
ssize_t (*real_read)(int, void*, std::size_t) = nullptr;
ssize_t (*real_read_at)(int, void*, std::size_t, off64_t) = nullptr;
ssize_t (*real_write)(int, const void*, std::size_t) = nullptr;
ssize_t (*real_write_at)(int, const void*, std::size_t, off64_t) = nullptr;
void* (*real_map)(void*, std::size_t, int, int, int, off_t) = nullptr;

int faulty_open(const char* path, int flags, int mode) {
    return fails(file_call::open) ? -1 : real_open(path, flags, mode);
}
int faulty_truncate(int file, off_t size) {
    return fails(file_call::truncate) ? -1 : real_truncate(file, size);
}
int faulty_stat(int file, struct stat* about) {
    return fails(file_call::size) ? -1 : real_stat(file, about);
}
int faulty_unlink(const char* path) { return fails(file_call::remove) ? -1 : real_unlink(path); }
ssize_t faulty_read(int file, void* to, std::size_t size) {
    const auto part = admitted(file_call::read, size);
    return part ? real_read(file, to, *part) : -1;
}
ssize_t faulty_read_at(int file, void* to, std::size_t size, off64_t offset) {
    const auto part = admitted(file_call::read, size);
    return part ? real_read_at(file, to, *part, offset) : -1;
}
ssize_t faulty_write(int file, const void* from, std::size_t size) {
    const auto part = admitted(file_call::write, size);
    return part ? real_write(file, from, *part) : -1;
}
ssize_t faulty_write_at(int file, const void* from, std::size_t size, off64_t offset) {
    const auto part = admitted(file_call::write, size);
    return part ? real_write_at(file, from, *part, offset) : -1;
}
void* faulty_map(void* hint, std::size_t size, int access, int flags, int file, off_t offset) {
    if (!fails(file_call::preallocate)) {
        return real_map(hint, size, access, flags, file, offset);
    }
    return MAP_FAILED;
}

template <class Call>
void replace(const char* name, Call*& real, Call* faulty) {
    sqlite3_vfs* const vfs = sqlite3_vfs_find("unix");
    const auto found = vfs->xGetSystemCall(vfs, name);
    if (found == nullptr) return;  // this build of SQLite does without it
    real = reinterpret_cast<Call*>(found);
    vfs->xSetSystemCall(vfs, name, reinterpret_cast<sqlite3_syscall_ptr>(faulty));
}

void restore_all() {
    sqlite3_vfs* const vfs = sqlite3_vfs_find("unix");
    vfs->xSetSystemCall(vfs, nullptr, nullptr);
}

}  // namespace

faulty_calls::faulty_calls(fault_plan& plan) : syncs_(&plan) {
    replace("open", real_open, faulty_open);
    replace("ftruncate", real_truncate, faulty_truncate);
    replace("fstat", real_stat, faulty_stat);
    replace("unlink", real_unlink, faulty_unlink);
    replace("read", real_read, faulty_read);
    replace("pread64", real_read_at, faulty_read_at);
    replace("write", real_write, faulty_write);
    replace("pwrite64", real_write_at, faulty_write_at);
    replace("mmap", real_map, faulty_map);
    active = &plan;
}

faulty_calls::~faulty_calls() {
    active = nullptr;
    restore_all();
}

}  // namespace cairn::test
