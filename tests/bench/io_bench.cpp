// What the file seam costs beside the bare system calls, for bytes that are cached and for bytes
// that must become durable.
#include "io/pool_file_system.hpp"
#include "io/ring.hpp"
#include "io/ring_file_system.hpp"
#include "runtime/runtime.hpp"
#include "runtime/task_scope.hpp"

#include <benchmark/benchmark.h>
#include <boost/asio/this_coro.hpp>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace cairn {
namespace {

constexpr std::size_t page = 4096;
constexpr std::uint64_t pages = 1024;

// A folder of its own on a real disk, with one written file of 4 MiB.
class disk {
public:
    disk() {
        const char* parent = std::getenv("CAIRN_TEST_DIR");
        std::string made =
            std::string(parent != nullptr ? parent : "/var/tmp") + "/cairn-bench-XXXXXX";
        if (::mkdtemp(made.data()) == nullptr) std::abort();
        folder_ = made;
        const int number = ::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        const buffer bytes = buffer::copy_of(as_bytes(std::string(page, 'x')));
        for (std::uint64_t i = 0; i < pages; ++i) {
            if (::pwrite(number, bytes.data(), page, static_cast<off_t>(i * page)) != page)
                std::abort();
        }
        ::fdatasync(number);
        ::close(number);
    }
    disk(const disk&) = delete;
    disk& operator=(const disk&) = delete;
    ~disk() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    std::filesystem::path path() const { return folder_ / "file"; }

private:
    std::filesystem::path folder_;
};

runtime_options one_thread() {
    runtime_options options;
    options.threads = 1;
    options.blocking_threads = 8;
    return options;
}

awaitable<std::shared_ptr<file>> open(file_system& files, std::filesystem::path path) {
    auto opened = co_await files.open(std::move(path), open_mode::read_write);
    co_return std::move(opened).value();
}

// --- cached reads

void read_with_pread(benchmark::State& state) {
    const disk on;
    const int number = ::open(on.path().c_str(), O_RDONLY | O_CLOEXEC);
    std::uint64_t next = 0;
    for (auto _ : state) {
        buffer bytes = buffer::allocate(page);
        const auto offset = static_cast<off_t>(next++ % pages * page);
        benchmark::DoNotOptimize(::pread(number, bytes.mutable_data(), page, offset));
    }
    state.SetItemsProcessed(state.iterations());
    ::close(number);
}

void read_with_try(benchmark::State& state) {
    const disk on;
    runtime loops(one_thread());
    pool_file_system files(loops);
    const auto from = loops.run(open(files, on.path()));
    std::uint64_t next = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(from->try_read_at(next++ % pages * page, page));
    }
    state.SetItemsProcessed(state.iterations());
}

awaitable<void> read_often(file& from, int count) {
    for (int i = 0; i < count; ++i) {
        const auto bytes =
            co_await from.read_at(static_cast<std::uint64_t>(i) % pages * page, page);
        benchmark::DoNotOptimize(bytes.has_value());
    }
}

void read_through_the_seam(benchmark::State& state) {
    static constexpr int count = 1000;
    const disk on;
    runtime loops(one_thread());
    ring_file_system files(loops);
    const auto from = loops.run(open(files, on.path()));
    for (auto _ : state) loops.run(read_often(*from, count));
    state.SetItemsProcessed(state.iterations() * count);
}

awaitable<void> read_by_ring(ring& on, int number, int count) {
    for (int i = 0; i < count; ++i) {
        const auto offset = static_cast<std::uint64_t>(i) % pages * page;
        auto work = operation::read(nullptr, number, offset, page);
        work = co_await on.run(std::move(work));
        benchmark::DoNotOptimize(work.finished());
    }
}

awaitable<void> read_side_by_side(ring& on, int number, int callers, int count) {
    const executor here = co_await asio::this_coro::executor;
    task_scope all(here);
    for (int i = 0; i < callers; ++i) all.spawn(read_by_ring(on, number, count));
    co_await all.join();
}

void read_with_the_ring(benchmark::State& state) {
    static constexpr int count = 200;
    const int callers = static_cast<int>(state.range(0));
    const disk on;
    runtime loops(one_thread());
    ring& kernel = ring::of(loops.at(0).context());
    const int number = ::open(on.path().c_str(), O_RDONLY | O_CLOEXEC);
    for (auto _ : state) loops.run(read_side_by_side(kernel, number, callers, count));
    state.SetItemsProcessed(state.iterations() * callers * count);
    ::close(number);
}

// --- 256 bytes written and made durable

constexpr std::size_t record = 256;

void write_and_sync_with_calls(benchmark::State& state) {
    const disk on;
    const int number = ::open(on.path().c_str(), O_RDWR | O_CLOEXEC);
    const buffer bytes = buffer::copy_of(as_bytes(std::string(record, 'y')));
    std::uint64_t next = 0;
    for (auto _ : state) {
        const auto offset = static_cast<off_t>(next++ % pages * page);
        benchmark::DoNotOptimize(::pwrite(number, bytes.data(), record, offset));
        benchmark::DoNotOptimize(::fdatasync(number));
    }
    state.SetItemsProcessed(state.iterations());
    ::close(number);
}

awaitable<void> write_often(file& to, std::uint64_t first, int count) {
    for (int i = 0; i < count; ++i) {
        const auto offset = (first + static_cast<std::uint64_t>(i)) % pages * page;
        const auto written = co_await to.write_at(offset, buffer::allocate(record));
        const auto synced = co_await to.sync();
        benchmark::DoNotOptimize(written.has_value() && synced.has_value());
    }
}

awaitable<void> write_side_by_side(file& to, int callers, int count) {
    const executor here = co_await asio::this_coro::executor;
    task_scope all(here);
    for (int i = 0; i < callers; ++i) {
        all.spawn(write_often(to, static_cast<std::uint64_t>(i) * 16, count));
    }
    co_await all.join();
}

template <class FileSystem>
void write_and_sync(benchmark::State& state) {
    static constexpr int count = 10;
    const int callers = static_cast<int>(state.range(0));
    const disk on;
    runtime loops(one_thread());
    FileSystem files(loops);
    const auto to = loops.run(open(files, on.path()));
    for (auto _ : state) loops.run(write_side_by_side(*to, callers, count));
    state.SetItemsProcessed(state.iterations() * callers * count);
}

BENCHMARK(read_with_pread)->Name("read/4KiB/pread")->UseRealTime();
BENCHMARK(read_with_try)->Name("read/4KiB/try_read_at")->UseRealTime();
BENCHMARK(read_through_the_seam)->Name("read/4KiB/read_at")->UseRealTime();
BENCHMARK(read_with_the_ring)->Name("read/4KiB/ring")->Arg(1)->Arg(32)->Arg(256)->UseRealTime();
BENCHMARK(write_and_sync_with_calls)->Name("sync/256B/calls")->UseRealTime();
BENCHMARK_TEMPLATE(write_and_sync, ring_file_system)
    ->Name("sync/256B/ring")
    ->Arg(1)
    ->Arg(16)
    ->Arg(64)
    ->UseRealTime();
BENCHMARK_TEMPLATE(write_and_sync, pool_file_system)
    ->Name("sync/256B/pool")
    ->Arg(1)
    ->Arg(16)
    ->Arg(64)
    ->UseRealTime();

}  // namespace
}  // namespace cairn
