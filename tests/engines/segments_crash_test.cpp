// Power cuts in the middle of concurrent puts, on the disk's twin: whatever was acknowledged is
// read back byte for byte by the next boot, and no file is left that the ledger does not know. The
// ledger itself never forgets here, so this is about the bytes (SAFETY.md R1, R2); tests/fault does
// both.
//
// Each mutant skips one step of the protocol, and must be seen to lose something.
#include "engines/memory/memory_catalog.hpp"
#include "engines/segments/segment_name.hpp"
#include "engines/segments/segments.hpp"
#include "io/memory_file_system.hpp"
#include "runtime/deadline.hpp"
#include "runtime/log.hpp"
#include "runtime/task_scope.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/forwarding_files.hpp"
#include "tests/support/results.hpp"

#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>
#include <set>

namespace cairn {
namespace {

using test::piecewise_source;

struct promise {
    std::uint64_t seed = 0;
    std::size_t size_bytes = 0;
    extent stored;
};

segments_options small_segments() {
    segments_options options;
    options.segment_bytes = 512 << 10;
    options.shared_record_bytes_max = 128 << 10;
    return options;
}

// Puts until the store stops answering, or for longer than any cut waits.
awaitable<void> put_until_stopped(segments& bulk,
                                  catalog& rows,
                                  std::uint64_t seed,
                                  std::vector<promise>& kept) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 40; ++i) {
        const std::uint64_t body_seed = random();
        // One window, several, or a segment of its own.
        const std::size_t size_bytes =
            random() % 20 == 0 ? 200'000 : random() % (random() % 4 == 0 ? 120'000 : 40'000) + 1;
        const buffer body = test::random_body(size_bytes, body_seed);
        piecewise_source from(body);
        intake in(from, std::nullopt, UINT64_MAX);
        auto written = co_await bulk.write(in);
        if (!written) co_return;
        put_blob row;
        row.id = in.id();
        row.size_bytes = size_bytes;
        row.checksums_digest = (*written)->stored().checksums_digest;
        row.where = (*written)->stored().at;
        row.alone = (*written)->alone();
        change put = row;
        auto done = co_await rows.commit(std::move(put));
        if (!done) co_return;
        (*written)->decide();
        kept.push_back({body_seed, size_bytes, (*written)->stored()});
    }
}

awaitable<void> load_and_cut(segments& bulk,
                             catalog& rows,
                             memory_file_system& disk,
                             std::uint64_t seed,
                             std::vector<promise>& kept) {
    const executor here = co_await asio::this_coro::executor;
    task_scope callers(here);
    for (std::uint64_t i = 0; i < 8; ++i) {
        callers.spawn(put_until_stopped(bulk, rows, seed * 100 + i, kept));
    }
    co_await sleep_for(std::chrono::microseconds(500 + seed * 7919 % 6000));
    // With a seed of its own, any part of what is unsynced may survive; without, none does.
    disk.crash(seed % 2 == 0 ? std::optional<std::uint64_t>(seed) : std::nullopt);
    co_await callers.join();
}

awaitable<result<std::string>> read_back(segments& bulk, extent stored) {
    const byte_range whole{0, stored.size_bytes};
    auto opened = co_await bulk.read(stored, whole);
    if (!opened) co_return opened.error();
    co_return co_await test::read_all(**opened);
}

// One life of a store and the boot after it: how many acknowledged byte strings were lost.
std::size_t lost_in_one_cut(runtime& threads,
                            memory_file_system& disk,
                            file_system& files,
                            std::uint64_t seed) {
    memory_catalog rows;
    std::vector<promise> kept;
    {
        fail_stop stop;
        auto bulk =
            threads.run(segments::open(threads, files, "/segments", rows, stop, small_segments()))
                .value();
        threads.run(load_and_cut(*bulk, rows, disk, seed, kept));
        threads.run(bulk->close());
    }
    rows.reopen();
    fail_stop stop;
    auto bulk =
        threads.run(segments::open(threads, disk, "/segments", rows, stop, small_segments()))
            .value();
    std::size_t lost = 0;
    for (const promise& each : kept) {
        const auto body = threads.run(read_back(*bulk, each.stored));
        const buffer expected = test::random_body(each.size_bytes, each.seed);
        lost += !body || *body != expected.text();
    }
    std::set<std::string> known;
    for (const auto& each : threads.run(rows.segments(0, 10'000, false)).value()) {
        known.insert(segment_name(each.segment));
        CHECK(each.sealed);  // by recovery: all are of the boot before
    }
    for (const std::string& name : threads.run(disk.list("/segments")).value()) {
        CHECK(known.contains(name));
    }
    threads.run(bulk->close());
    return lost;
}

template <class Files>
std::size_t lost_in(std::uint64_t rounds) {
    set_log_level(log_level::off);  // each cut stops a store, which says so
    runtime threads{{.threads = 2, .blocking_threads = 1}};
    std::size_t lost = 0;
    for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
        memory_file_system disk;
        Files files(disk);
        lost += lost_in_one_cut(threads, disk, files, seed);
    }
    set_log_level(log_level::info);
    return lost;
}

TEST_CASE("segments: no power cut loses what was acknowledged, or leaves what nobody knows") {
    CHECK(lost_in<forwarding_file_system>(40) == 0);
}

TEST_CASE("segments: mutant: without data syncs the cuts are seen to lose (R1)") {
    CHECK(lost_in<test::unsynced_files>(10) > 0);
}

TEST_CASE("segments: mutant: without directory syncs the cuts are seen to lose (R1.2)") {
    CHECK(lost_in<test::unsynced_folders>(10) > 0);
}

}  // namespace
}  // namespace cairn
