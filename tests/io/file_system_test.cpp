// The contract of io/file.hpp, promise by promise, on everything that stands behind it.
#include "runtime/task_scope.hpp"
#include "tests/io/backends.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/errc.hpp>
#include <thread>

namespace cairn::test {
namespace {

namespace posix = boost::system::errc;
using path = std::filesystem::path;
using shared_file = std::shared_ptr<file>;

awaitable<shared_file> make(file_system& files, path name) {
    auto opened = co_await files.open(name, open_mode::create);
    co_return std::move(opened).value();
}

template <class Backend, class... Args>
void run_on(awaitable<void> (*body)(file_system&, path, Args...), Args... args) {
    if (!Backend::available()) return;
    Backend backend;
    backend.run(body(backend.files, backend.root, std::move(args)...));
}

awaitable<void> write_and_read(file_system& files, path root) {
    static constexpr std::array<std::size_t, 5> sizes = {1, 511, 4096, 65536, 1048579};
    for (const std::size_t size : sizes) {
        const path name = root / std::to_string(size);
        const shared_file f = co_await make(files, name);
        const buffer wanted = pattern(size);
        const auto written = co_await f->write_at(100, wanted);
        REQUIRE(written);
        const auto synced = co_await f->sync();
        CHECK(synced);
        const auto read = co_await f->read_at(100, size);
        REQUIRE(read.has_value());
        CHECK(read->text() == wanted.text());
        const auto size_bytes = co_await f->size();
        CHECK(size_bytes.value() == size + 100);
    }
}

TEST_CASE_TEMPLATE("file: gives back the bytes that were written", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(write_and_read);
}

awaitable<void> write_pieces(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    std::vector<buffer> pieces;
    std::string wanted;
    for (const std::size_t size : {1U, 4096U, 0U, 70000U, 33U}) {
        pieces.push_back(pattern(size, static_cast<unsigned>(size)));
        wanted += pieces.back().text();
    }
    for (int i = 0; i < 2000; ++i) {
        pieces.push_back(pattern(3, static_cast<unsigned>(i)));
        wanted += pieces.back().text();
    }
    const auto written = co_await f->write_at(7, pieces);
    REQUIRE(written);
    const byte_range all{7, wanted.size()};
    const auto synced = co_await f->sync(all);
    CHECK(synced);
    const auto read = co_await f->read_at(7, wanted.size() + 1);
    CHECK(read.value().text() == wanted);
}

TEST_CASE_TEMPLATE("file: pieces lie one behind the other", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(write_pieces);
}

awaitable<void> read_past_the_end(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    const auto written = co_await f->write_at(0, pattern(10000));
    REQUIRE(written);
    const auto cut = co_await f->read_at(9000, 5000);
    CHECK(cut.value().text() == pattern(10000).text().substr(9000));
    const auto behind = co_await f->read_at(10000, 10);
    CHECK(behind.value().empty());
    const auto tebibyte = std::uint64_t{1} << 40;
    const auto far = co_await f->read_at(tebibyte, 10);
    CHECK(far.value().empty());
    const auto nothing = co_await f->read_at(5, 0);
    CHECK(nothing.value().empty());
}

TEST_CASE_TEMPLATE("file: a read is cut where the file ends", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(read_past_the_end);
}

awaitable<void> leave_a_gap(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    const auto written = co_await f->write_at(20000, pattern(5));
    REQUIRE(written);
    const auto read = co_await f->read_at(0, 20005);
    CHECK(read.value().text().substr(0, 20000) == std::string(20000, '\0'));
    CHECK(read.value().text().substr(20000) == pattern(5).text());
}

TEST_CASE_TEMPLATE("file: what nobody wrote reads as zeros", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(leave_a_gap);
}

awaitable<void> write_nothing(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    const auto written = co_await f->write_at(50, buffer());
    CHECK(written);
    const auto size = co_await f->size();
    CHECK(size.value() == 0);
}

TEST_CASE_TEMPLATE("file: writing no bytes changes nothing", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(write_nothing);
}

awaitable<void> preallocate(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    const auto written = co_await f->write_at(0, pattern(100));
    REQUIRE(written);
    const auto grown = co_await f->preallocate(1 << 20);
    CHECK(grown);
    const auto again = co_await f->preallocate(1000);
    CHECK(again);
    const auto size = co_await f->size();
    CHECK(size.value() == 1 << 20);
    const auto read = co_await f->read_at(0, 200);
    CHECK(read.value().text() == std::string(pattern(100).text()) + std::string(100, '\0'));
}

TEST_CASE_TEMPLATE("file: preallocating lengthens, keeps the bytes, and never shortens",
                   Backend,
                   CAIRN_BACKENDS) {
    run_on<Backend>(preallocate);
}

awaitable<void> punch(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    const buffer wanted = pattern(30000);
    const auto written = co_await f->write_at(0, wanted);
    REQUIRE(written);
    const auto punched = co_await f->punch(5000, 10000);
    REQUIRE(punched);
    std::string expected(wanted.text());
    expected.replace(5000, 10000, 10000, '\0');
    const auto read = co_await f->read_at(0, 30000);
    CHECK(read.value().text() == expected);
    const auto size = co_await f->size();
    CHECK(size.value() == 30000);
}

TEST_CASE_TEMPLATE("file: a punched range reads as zeros and the length stays",
                   Backend,
                   CAIRN_BACKENDS) {
    run_on<Backend>(punch);
}

awaitable<void> truncate(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    const auto written = co_await f->write_at(0, pattern(10000));
    REQUIRE(written);
    const auto cut = co_await f->truncate(5000);
    REQUIRE(cut);
    const auto grown = co_await f->truncate(6000);
    REQUIRE(grown);
    const auto read = co_await f->read_at(4990, 2000);
    CHECK(read.value().text() ==
          std::string(pattern(10000).text().substr(4990, 10)) + std::string(1000, '\0'));
}

TEST_CASE_TEMPLATE("file: truncating drops the tail for good", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(truncate);
}

awaitable<void> write_where_forbidden(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    const auto reader = co_await files.open(root / "f", open_mode::read);
    const auto written = co_await reader.value()->write_at(0, pattern(10));
    REQUIRE(!written);
    CHECK(written.error() == posix::bad_file_descriptor);
}

TEST_CASE_TEMPLATE("file: opened for reading it refuses writes", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(write_where_forbidden);
}

awaitable<void> read_cached(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    const auto written = co_await f->write_at(0, pattern(10000));
    REQUIRE(written);
    const auto all = f->try_read_at(0, 10000);
    REQUIRE(all.has_value());
    CHECK(all->text() == pattern(10000).text());
    const auto tail = f->try_read_at(9990, 100);
    REQUIRE(tail.has_value());
    CHECK(tail->size() == 10);
}

TEST_CASE_TEMPLATE("file: bytes just written are read without waiting", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(read_cached);
}

awaitable<void> open_and_create(file_system& files, path root) {
    const auto absent = co_await files.open(root / "f", open_mode::read_write);
    REQUIRE(!absent);
    CHECK(absent.error() == posix::no_such_file_or_directory);
    const auto nowhere = co_await files.open(root / "no" / "f", open_mode::create);
    REQUIRE(!nowhere);
    CHECK(nowhere.error() == posix::no_such_file_or_directory);
    const auto made = co_await files.open(root / "f", open_mode::create);
    CHECK(made);
    const auto twice = co_await files.open(root / "f", open_mode::create);
    REQUIRE(!twice);
    CHECK(twice.error() == posix::file_exists);
    const auto present = co_await files.open(root / "f", open_mode::read_write);
    CHECK(present);
}

TEST_CASE_TEMPLATE("file system: create wants a new name, open an old one",
                   Backend,
                   CAIRN_BACKENDS) {
    run_on<Backend>(open_and_create);
}

awaitable<void> remove(file_system& files, path root) {
    const auto absent = co_await files.remove(root / "f");
    CHECK(absent);
    const shared_file f = co_await make(files, root / "f");
    const auto removed = co_await files.remove(root / "f");
    CHECK(removed);
    const auto gone = co_await files.open(root / "f", open_mode::read);
    CHECK(!gone);
    const auto written = co_await f->write_at(0, pattern(10));
    CHECK(written);
    const auto read = co_await f->read_at(0, 10);
    CHECK(read.value().text() == pattern(10).text());
}

TEST_CASE_TEMPLATE("file system: a removed file lives on for those who hold it open",
                   Backend,
                   CAIRN_BACKENDS) {
    run_on<Backend>(remove);
}

awaitable<void> rename(file_system& files, path root) {
    const shared_file from = co_await make(files, root / "from");
    const auto written = co_await from->write_at(0, pattern(10));
    REQUIRE(written);
    const shared_file to = co_await make(files, root / "to");
    const auto renamed = co_await files.rename(root / "from", root / "to");
    REQUIRE(renamed);
    const auto synced = co_await files.sync_directory(root);
    CHECK(synced);
    const auto names = co_await files.list(root);
    CHECK(names.value() == std::vector<std::string>{"to"});
    const auto found = co_await files.open(root / "to", open_mode::read);
    const auto read = co_await found.value()->read_at(0, 10);
    CHECK(read.value().text() == pattern(10).text());
    const auto absent = co_await files.rename(root / "from", root / "to");
    REQUIRE(!absent);
    CHECK(absent.error() == posix::no_such_file_or_directory);
}

TEST_CASE_TEMPLATE("file system: rename replaces what had the name", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(rename);
}

awaitable<void> folders(file_system& files, path root) {
    const auto orphan = co_await files.make_directory(root / "a" / "b");
    REQUIRE(!orphan);
    CHECK(orphan.error() == posix::no_such_file_or_directory);
    const auto made = co_await files.make_directory(root / "a");
    CHECK(made);
    const auto again = co_await files.make_directory(root / "a");
    CHECK(again);
    std::vector<std::string> sorted;
    for (int i = 0; i < 40; ++i) {
        const std::string name = std::to_string(i * 7919 % 1000);
        const shared_file f = co_await make(files, root / "a" / name);
        sorted.push_back(name);
    }
    std::sort(sorted.begin(), sorted.end());
    const auto nested = co_await files.make_directory(root / "a" / "c");
    CHECK(nested);
    const auto names = co_await files.list(root / "a");
    CHECK(names.value() == sorted);
    const auto taken = co_await files.make_directory(root / "a" / "0");
    REQUIRE(!taken);
    CHECK(taken.error() == posix::file_exists);
    const auto nowhere = co_await files.list(root / "nowhere");
    CHECK(!nowhere);
    const auto unsyncable = co_await files.sync_directory(root / "nowhere");
    CHECK(!unsyncable);
}

TEST_CASE_TEMPLATE("file system: folders list their files, sorted, without folders",
                   Backend,
                   CAIRN_BACKENDS) {
    run_on<Backend>(folders);
}

awaitable<void> space(file_system& files, path root) {
    const auto there = co_await files.space(root);
    REQUIRE(there.has_value());
    CHECK(there->free_bytes > 0);
    CHECK(there->total_bytes >= there->free_bytes);
}

TEST_CASE_TEMPLATE("file system: there is space in the test's folder", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(space);
}

awaitable<void> write_for(const shared_file& f, std::size_t index, std::atomic<int>& good) {
    const buffer wanted = pattern(5000, static_cast<unsigned>(index));
    const auto written = co_await f->write_at(index * 5000, wanted);
    const auto synced = co_await f->sync();
    const auto read = co_await f->read_at(index * 5000, 5000);
    if (written && synced && read && read->text() == wanted.text()) good.fetch_add(1);
}

awaitable<void> write_side_by_side(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    std::atomic<int> good{0};
    const executor here = co_await asio::this_coro::executor;
    task_scope callers(here);
    for (std::size_t i = 0; i < 200; ++i) callers.spawn(write_for(f, i, good));
    co_await callers.join();
    CHECK(good == 200);
    const auto size = co_await f->size();
    CHECK(size.value() == 200 * 5000);
}

TEST_CASE_TEMPLATE("file: two hundred callers side by side each get their own bytes",
                   Backend,
                   CAIRN_BACKENDS) {
    run_on<Backend>(write_side_by_side);
}

awaitable<void> write_then_report(file* f, std::optional<bool>& ended) {
    const auto written = co_await f->write_at(0, pattern(4 << 20));
    ended = written.has_value();
}

awaitable<void> drop_the_file(file_system& files, path root) {
    shared_file f = co_await make(files, root / "f");
    std::optional<bool> ended;
    const executor here = co_await asio::this_coro::executor;
    task_scope callers(here);
    callers.spawn(write_then_report(f.get(), ended));
    co_await asio::post(asio::use_awaitable);  // the write has begun
    f.reset();
    co_await callers.join();
    CHECK(ended == true);
    const auto found = co_await files.open(root / "f", open_mode::read);
    const auto size = co_await found.value()->size();
    CHECK(size.value() == 4 << 20);
}

TEST_CASE_TEMPLATE("file: an operation under way outlives its file", Backend, CAIRN_BACKENDS) {
    run_on<Backend>(drop_the_file);
}

awaitable<void> cancel_what_has_begun(file_system& files, path root) {
    const shared_file f = co_await make(files, root / "f");
    std::optional<bool> ended;
    const executor here = co_await asio::this_coro::executor;
    task_scope callers(here);
    callers.spawn(write_then_report(f.get(), ended));
    co_await asio::post(asio::use_awaitable);
    callers.request_stop();
    co_await callers.join();
    CHECK(ended == true);
    const auto read = co_await f->read_at(0, 4 << 20);
    CHECK(read.value().text() == pattern(4 << 20).text());
}

TEST_CASE_TEMPLATE("file: a caller cancelled after its write began still gets the whole write",
                   Backend,
                   CAIRN_BACKENDS) {
    run_on<Backend>(cancel_what_has_begun);
}

awaitable<void> write_many(shared_file f, std::size_t thread, std::atomic<int>& good) {
    const executor here = co_await asio::this_coro::executor;
    task_scope callers(here);
    for (std::size_t i = 0; i < 32; ++i) callers.spawn(write_for(f, thread * 32 + i, good));
    co_await callers.join();
}

TEST_CASE_TEMPLATE("file: threads with contexts of their own share one file",
                   Backend,
                   CAIRN_BACKENDS) {
    if (!Backend::available()) return;
    Backend backend;
    const shared_file f = backend.run(make(backend.files, backend.root / "f"));
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i) {
        threads.emplace_back([&f, &good, i] { run_coro(write_many(f, i, good)); });
    }
    for (auto& each : threads) each.join();
    CHECK(good == 4 * 32);
}

}  // namespace
}  // namespace cairn::test
