#include "tests/fault/scarce_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <sqlite3.h>
#include <stdexcept>

namespace cairn::test {
namespace {

std::atomic<bool> armed{false};
std::atomic<bool> endless{false};
std::atomic<bool> failed{false};
std::atomic<std::int64_t> left{0};

bool refuses() noexcept {
    if (!armed.load(std::memory_order_relaxed)) return false;
    const std::int64_t now = left.fetch_sub(1) - 1;
    const bool refused = now == 0 || (now < 0 && endless);
    if (refused) failed = true;
    return refused;
}

sqlite3_mem_methods real{};

void* sqlite_take(int size) { return refuses() ? nullptr : real.xMalloc(size); }
void* sqlite_resize(void* old, int size) { return refuses() ? nullptr : real.xRealloc(old, size); }

void* take(std::size_t size) {
    void* const got = refuses() ? nullptr : std::malloc(size > 0 ? size : 1);
    if (got == nullptr) throw std::bad_alloc();
    return got;
}

void* take_aligned(std::size_t size, std::align_val_t alignment) {
    const auto unit = static_cast<std::size_t>(alignment);
    const std::size_t rounded = (size + unit - 1) / unit * unit;
    void* const got = refuses() ? nullptr : std::aligned_alloc(unit, rounded);
    if (got == nullptr) throw std::bad_alloc();
    return got;
}

}  // namespace

void scarce_memory::install() {
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
    sqlite3_mem_methods ours = real;
    ours.xMalloc = sqlite_take;
    ours.xRealloc = sqlite_resize;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) != SQLITE_OK) {
        throw std::runtime_error("SQLite is in use already");
    }
}

void scarce_memory::fail(std::uint64_t nth, bool for_good) {
    left = static_cast<std::int64_t>(nth);
    endless = for_good;
    failed = false;
    armed = true;
}

void scarce_memory::relieve() { armed = false; }

bool scarce_memory::failed_any() { return failed; }

}  // namespace cairn::test

void* operator new(std::size_t size) { return cairn::test::take(size); }
void* operator new[](std::size_t size) { return cairn::test::take(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return cairn::test::take_aligned(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
    return cairn::test::take_aligned(size, alignment);
}
void operator delete(void* taken) noexcept { std::free(taken); }
void operator delete[](void* taken) noexcept { std::free(taken); }
void operator delete(void* taken, std::size_t) noexcept { std::free(taken); }
void operator delete[](void* taken, std::size_t) noexcept { std::free(taken); }
void operator delete(void* taken, std::align_val_t) noexcept { std::free(taken); }
void operator delete[](void* taken, std::align_val_t) noexcept { std::free(taken); }
void operator delete(void* taken, std::size_t, std::align_val_t) noexcept { std::free(taken); }
void operator delete[](void* taken, std::size_t, std::align_val_t) noexcept { std::free(taken); }
