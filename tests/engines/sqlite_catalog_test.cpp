// How the SQLite catalog keeps its promises: reopening, batches, a bounded log, a full disk, a
// failed commit.
#include "engines/sqlite/sqlite_catalog.hpp"

#include "engines/checksums.hpp"
#include "runtime/task_scope.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/faulty_vfs.hpp"
#include "tests/support/results.hpp"
#include "tests/support/temp_dir.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <sqlite3.h>

namespace cairn {
namespace {

put_blob inline_put(std::uint64_t seed, std::size_t size_bytes = 100) {
    put_blob put;
    put.value = test::random_body(size_bytes, seed);
    put.id = blob_id::of(put.value.view());
    put.size_bytes = size_bytes;
    put.checksums_digest = checksums::of(put.value.view()).digest();
    return put;
}

class fixture {
public:
    fixture() { open(); }
    ~fixture() { close(); }

    void open() {
        stop = std::make_unique<fail_stop>();
        rows = run(sqlite_catalog::open(threads, folder / "catalog.db", *stop)).value();
    }
    void close() {
        if (rows) run(rows->close());
        rows.reset();
    }
    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }
    result<applied> commit(change what) { return run(rows->commit(std::move(what))); }
    bool has(std::uint64_t seed) {
        return run(rows->find(inline_put(seed).id)).value().has_value();
    }
    std::uintmax_t wal_bytes() {
        std::error_code ec;
        const auto size_bytes = std::filesystem::file_size(folder / "catalog.db-wal", ec);
        return ec ? 0 : size_bytes;
    }

    test::temp_dir folder;
    runtime threads{{.threads = 1, .blocking_threads = 1}};
    std::unique_ptr<fail_stop> stop;
    std::unique_ptr<sqlite_catalog> rows;
};

TEST_CASE("sqlite: rows and the boot survive reopening, and seq goes on") {
    fixture engine;
    engine.commit(inline_put(1)).value();
    const std::uint64_t boot = engine.rows->boot();
    const auto first = engine.run(engine.rows->find(inline_put(1).id)).value();
    engine.commit(remove_blob{first->id}).value();
    engine.close();
    engine.open();
    CHECK(engine.rows->boot() == boot + 1);
    CHECK_FALSE(engine.has(1));
    engine.commit(inline_put(1)).value();
    const auto again = engine.run(engine.rows->find(inline_put(1).id)).value();
    CHECK(again->seq > first->seq + 500'000);  // more than a crash can take
}

TEST_CASE("sqlite: a file that is not a catalog is refused and left alone") {
    fixture engine;
    engine.close();
    const auto other = engine.folder / "other.db";
    sqlite3* handle = nullptr;
    REQUIRE(sqlite3_open(other.c_str(), &handle) == SQLITE_OK);
    REQUIRE(sqlite3_exec(handle, "CREATE TABLE theirs(x)", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(handle);
    fail_stop stop;
    const auto opened = engine.run(sqlite_catalog::open(engine.threads, other, stop));
    CHECK(opened.error() == errc::incompatible);
    REQUIRE(sqlite3_open(other.c_str(), &handle) == SQLITE_OK);
    CHECK(sqlite3_exec(handle, "SELECT x FROM theirs", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(handle);
}

awaitable<void> put_one(sqlite_catalog& rows, put_blob put, std::vector<error_code>& answers) {
    const std::size_t size_bytes = put.size_bytes;
    auto done = co_await rows.commit(std::move(put));
    answers.push_back(done ? error_code() : done.error());
    CHECK(size_bytes > 0);
}

awaitable<std::vector<error_code>> put_at_once(sqlite_catalog& rows, std::vector<put_blob> puts) {
    const executor here = co_await asio::this_coro::executor;
    std::vector<error_code> answers;
    task_scope callers(here);
    for (put_blob& each : puts) callers.spawn(put_one(rows, std::move(each), answers));
    co_await callers.join();
    co_return answers;
}

TEST_CASE("sqlite: a bad request fails alone, its batch does not") {
    fixture engine;
    std::vector<put_blob> puts;
    for (std::uint64_t seed = 0; seed < 64; ++seed) puts.push_back(inline_put(seed));
    put_blob bad = inline_put(1000, 8);
    bad.value = buffer::allocate(2 << 20);  // over SQLITE_LIMIT_LENGTH
    puts[20] = bad;
    const auto answers = engine.run(put_at_once(*engine.rows, puts));
    CHECK(std::count(answers.begin(), answers.end(), error_code()) == 63);
    CHECK(engine.has(63));
    CHECK_FALSE(engine.stop->tripped());
}

TEST_CASE("sqlite: callers that wait together share commits") {
    fixture engine;
    std::vector<put_blob> puts;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) puts.push_back(inline_put(seed));
    engine.run(put_at_once(*engine.rows, puts));
    const auto counts = engine.rows->commit_counts();
    CHECK(counts.entries == 1000);
    CHECK(counts.batches < 200);
}

awaitable<void> read_for_ever(sqlite_catalog& rows, const bool& done) {
    std::uint64_t seed = 0;
    while (!done) {
        const blob_id id = inline_put(seed % 100).id;
        auto found = co_await rows.find(id);
        CHECK(found);
        ++seed;
    }
}

awaitable<void> write_much(sqlite_catalog& rows, bool& done) {
    for (std::uint64_t round = 0; round < 60; ++round) {
        std::vector<put_blob> puts;
        for (std::uint64_t i = 0; i < 500; ++i) {
            puts.push_back(inline_put(1'000'000 + round * 500 + i, 4000));
        }
        auto answers = co_await put_at_once(rows, std::move(puts));
        CHECK(std::count(answers.begin(), answers.end(), error_code()) == 500);
    }
    done = true;
}

awaitable<void> write_under_readers(sqlite_catalog& rows) {
    const executor here = co_await asio::this_coro::executor;
    bool done = false;
    task_scope callers(here);
    for (int i = 0; i < 8; ++i) callers.spawn(read_for_ever(rows, done));
    callers.spawn(write_much(rows, done));
    co_await callers.join();
}

TEST_CASE("sqlite: the log stays under 64 MiB though readers never pause") {
    fixture engine;
    engine.run(write_under_readers(*engine.rows));  // 120 MB of values
    CHECK(engine.wal_bytes() > 0);
    CHECK(engine.wal_bytes() <= 64 << 20);
    engine.close();
    CHECK(engine.wal_bytes() == 0);
}

// A program that opened the catalog beside us, a shell or a backup, and reads as of now.
class reader_from_outside {
public:
    explicit reader_from_outside(const std::filesystem::path& catalog) {
        REQUIRE(sqlite3_open(catalog.c_str(), &handle_) == SQLITE_OK);
        const char* begin = "BEGIN; SELECT count(*) FROM sqlite_schema";
        REQUIRE(sqlite3_exec(handle_, begin, nullptr, nullptr, nullptr) == SQLITE_OK);
    }
    ~reader_from_outside() { sqlite3_close(handle_); }
    reader_from_outside(const reader_from_outside&) = delete;
    reader_from_outside& operator=(const reader_from_outside&) = delete;

private:
    sqlite3* handle_ = nullptr;
};

// 100 values of 4,000 bytes: more than 50 pages.
void put_a_hundred(fixture& engine, std::uint64_t& seed) {
    std::vector<put_blob> puts;
    for (int i = 0; i < 100; ++i) puts.push_back(inline_put(seed++, 4000));
    engine.run(put_at_once(*engine.rows, std::move(puts)));
}

TEST_CASE("sqlite: once a reader is out of its way, the log begins anew within a few MiB") {
    constexpr std::uintmax_t checkpoint_at = 16 << 20;
    constexpr std::uintmax_t few = 4 << 20;
    fixture engine;
    std::uint64_t seed = 0;
    {
        const reader_from_outside reader(engine.folder / "catalog.db");
        while (engine.wal_bytes() < checkpoint_at + few) put_a_hundred(engine, seed);
    }
    // Twice as much as the log may grow by; a log that has begun anew keeps the length of its file.
    const std::uint64_t end = seed + 2 * few / 4000;
    while (seed < end) put_a_hundred(engine, seed);
    CHECK(engine.wal_bytes() < checkpoint_at + 2 * few);
}

TEST_CASE("sqlite: a reader in a long log is waited for once in a few MiB, not at each commit") {
    constexpr std::uintmax_t restart_at = 40 << 20;
    fixture engine;
    std::uint64_t seed = 0;
    const reader_from_outside reader(engine.folder / "catalog.db");
    while (engine.wal_bytes() < restart_at + (4 << 20)) put_a_hundred(engine, seed);
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; ++i) engine.commit(inline_put(++seed)).value();
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));  // a wait: 2 s
}

TEST_CASE("sqlite: a full disk fails the puts that need it, nothing else, and is no stop (R6.2)") {
    test::faulty_vfs disk;
    fixture engine;
    engine.commit(inline_put(1)).value();
    disk.fail(test::faulty_vfs::call::write, test::faulty_vfs::error::no_space);
    CHECK(engine.commit(inline_put(2)).error() == errc::no_space);
    CHECK(engine.has(1));
    CHECK_FALSE(engine.has(2));
    CHECK_FALSE(engine.stop->tripped());
    disk.heal();
    CHECK(engine.commit(inline_put(2)).value().changed);
    CHECK(engine.has(2));
}

TEST_CASE("sqlite: a sync that fails under a commit stops the store (R6.1)") {
    test::faulty_vfs disk;
    fixture engine;
    engine.commit(inline_put(1)).value();
    disk.fail(test::faulty_vfs::call::sync, test::faulty_vfs::error::io);
    CHECK(engine.commit(inline_put(2)).error() == errc::outcome_unknown);
    CHECK(engine.stop->tripped());
    disk.heal();
    CHECK(engine.commit(inline_put(3)).error() == errc::stopped);
    CHECK(engine.run(engine.rows->find(inline_put(1).id)).error() == errc::stopped);
    // Reopening is what ends it, and what was acknowledged before is there.
    engine.close();
    engine.open();
    CHECK(engine.has(1));
    CHECK(engine.commit(inline_put(3)).value().changed);
}

TEST_CASE("sqlite: a write error at COMMIT that is not a full disk stops the store (R6.2)") {
    test::faulty_vfs disk;
    fixture engine;
    engine.commit(inline_put(1)).value();
    disk.fail(test::faulty_vfs::call::write, test::faulty_vfs::error::io);
    CHECK(engine.commit(inline_put(2)).error() == errc::outcome_unknown);
    CHECK(engine.stop->tripped());
}

// On a copy of what a process that was killed, or a disk that lost its power, has left.
void reopen_on(fixture& to, const fixture& from, std::initializer_list<const char*> files) {
    to.close();
    for (const char* each : {"catalog.db", "catalog.db-wal", "catalog.db-shm"}) {
        std::filesystem::remove(to.folder / each);
    }
    for (const char* each : files) {
        std::filesystem::copy_file(from.folder / each, to.folder / each);
    }
    to.open();
}

TEST_CASE("sqlite: what a killed process left in the log alone is durable once it is seen (R1.3)") {
    fixture killed, next, after_power_cut;
    killed.commit(inline_put(1)).value();
    reopen_on(next, killed, {"catalog.db", "catalog.db-wal"});
    CHECK(next.has(1));
    // The worst that may happen to a log: it is gone.
    reopen_on(after_power_cut, next, {"catalog.db"});
    CHECK(after_power_cut.has(1));
}

TEST_CASE("sqlite: no start on a log that another program keeps from being copied (R1.3)") {
    fixture killed, next;
    killed.commit(inline_put(1)).value();
    next.close();
    for (const char* name : {"catalog.db", "catalog.db-wal"}) {
        std::filesystem::copy_file(killed.folder / name, next.folder / name,
                                   std::filesystem::copy_options::overwrite_existing);
    }
    const auto path = next.folder / "catalog.db";
    {
        const reader_from_outside reader(path);
        const auto opened = next.run(sqlite_catalog::open(next.threads, path, *next.stop));
        REQUIRE_FALSE(opened.has_value());
        CHECK(sqlite::is_busy(opened.error()));
    }
    next.open();
    CHECK(next.has(1));
}

TEST_CASE("sqlite: an index entry that rots never leads to another blob's row (R5)") {
    fixture engine;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) engine.commit(inline_put(seed)).value();
    engine.close();
    // An entry of the index on `id`: its header, the id, the seq of the row.
    const blob_id id = inline_put(2).id;
    std::string entry = "\x03\x4c\x03";
    entry += as_text(id.view());
    entry.append("\x10\x00", 2);  // the first two bytes of each seq of this boot
    std::fstream file(engine.folder / "catalog.db",
                      std::ios::in | std::ios::out | std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    const std::size_t at = all.find(entry + '\x02');
    REQUIRE(at != std::string::npos);
    file.seekp(static_cast<std::streamoff>(at + entry.size()));
    file.put('\x03');
    file.close();
    engine.open();
    CHECK(engine.run(engine.rows->find(id)).error() == errc::corrupt);
    CHECK(engine.has(1));
    CHECK(engine.has(3));
}

TEST_CASE("sqlite: the writer keeps each commit durable, and says so itself") {
    fixture engine;
    test::faulty_vfs disk;
    engine.close();
    engine.open();
    const std::size_t before = disk.count(test::faulty_vfs::call::sync);
    for (std::uint64_t seed = 0; seed < 10; ++seed) engine.commit(inline_put(seed)).value();
    CHECK(disk.count(test::faulty_vfs::call::sync) >= before + 10);
}

put_blob log_put(std::uint64_t seed, std::uint64_t segment) {
    put_blob put = inline_put(seed);
    put.value = buffer();
    put.where = locator{segment, seed * 8192, 8192};
    return put;
}

TEST_CASE("sqlite: a put whose record is its commit costs no sync, and whatever follows it does") {
    fixture engine;
    test::faulty_vfs disk;
    engine.close();
    engine.open();
    const auto syncs = [&] { return disk.count(test::faulty_vfs::call::sync); };
    const auto cost = [&](change what) {
        const std::size_t before = syncs();
        engine.commit(std::move(what)).value();
        return syncs() - before;
    };
    CHECK(cost(open_segment{7, 1}) > 0);
    CHECK(cost(log_put(1, 7)) == 0);
    CHECK(cost(log_put(3, 7)) == 0);
    CHECK(cost(log_put(2, 7)) > 0);  // overtaken
    CHECK(cost(inline_put(9)) > 0);
    CHECK(cost(log_put(4, 7)) == 0);
    CHECK(cost(remove_blob{log_put(4, 7).id}) > 0);
    CHECK(cost(seal_segment{7}) > 0);
    CHECK(cost(log_put(5, 7)) > 0);
    CHECK(cost(open_segment{8}) > 0);
    CHECK(cost(log_put(6, 8)) > 0);
    for (const std::uint64_t seed : {1, 2, 3, 5, 6, 9}) CHECK(engine.has(seed));
}

TEST_CASE("sqlite: a catalog of format 1 is opened, and is of this format from then on") {
    fixture engine;
    engine.commit(open_segment{7}).value();
    engine.commit(inline_put(1)).value();
    engine.close();
    sqlite3* handle = nullptr;
    REQUIRE(sqlite3_open((engine.folder / "catalog.db").c_str(), &handle) == SQLITE_OK);
    REQUIRE(sqlite3_exec(handle,
                         "ALTER TABLE segments DROP COLUMN replay_key; PRAGMA user_version = 1",
                         nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(handle);
    for (int opening = 0; opening < 2; ++opening) {
        engine.open();
        CHECK(engine.has(1));
        const auto left = engine.run(engine.rows->segments(0, 10, true)).value();
        REQUIRE(left.size() == 1);
        CHECK(left.front().replay_key == 0);
        engine.close();
    }
}

}  // namespace
}  // namespace cairn
