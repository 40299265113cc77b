// The ring's mechanisms, on contexts of the test's own. A read of an empty pipe is an operation
// that stays in the kernel for as long as a test likes.
#include "io/ring.hpp"

#include "runtime/check.hpp"
#include "runtime/task_scope.hpp"
#include "tests/io/backends.hpp"

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <future>
#include <memory>
#include <thread>
#include <unistd.h>

namespace cairn::test {
namespace {

class pipe_ends {
public:
    pipe_ends() { CAIRN_CHECK(::pipe2(ends_.data(), O_CLOEXEC) == 0); }
    ~pipe_ends() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    int reader() const { return ends_[0]; }
    void write(std::string_view text) const {
        CAIRN_CHECK(::write(ends_[1], text.data(), text.size()) == std::ssize(text));
    }

    // What is in it, which must be something.
    std::string read() const {
        std::string text(100, '\0');
        const auto count = ::read(ends_[0], text.data(), text.size());
        text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
        return text;
    }

private:
    std::array<int, 2> ends_{};
};

ring_options small() {
    ring_options options;
    options.submissions = 4;
    options.in_flight = 8;
    return options;
}

// For coroutines that never end by themselves: the context that they die with owns them.
void on_end(const std::exception_ptr&) {}

// Says when the frame that holds it goes.
struct witness {
    explicit witness(int& count) : gone(count) {}
    witness(const witness&) = delete;
    witness& operator=(const witness&) = delete;
    ~witness() { ++gone; }
    int& gone;
};

awaitable<void> read_pipe(ring& on, int descriptor, std::shared_ptr<const int> owner, int& gone) {
    const witness frame(gone);
    auto work = operation::read(std::move(owner), descriptor, std::uint64_t(-1), 100);
    work = co_await on.run(std::move(work));
    FAIL("nobody wrote to the pipe");
}

TEST_CASE("ring: a context destroyed under its readers lets go of callers, buffers and files") {
    if (!ring_available()) return;
    const pipe_ends pipe;
    const auto owner = std::make_shared<const int>(0);
    int gone = 0;
    {
        asio::io_context context;
        ring& on = ring::of(context, small());
        // More than the ring takes, so that some are in the kernel and some wait.
        for (int i = 0; i < 20; ++i) {
            asio::co_spawn(context, read_pipe(on, pipe.reader(), owner, gone), on_end);
        }
        context.run_for(std::chrono::milliseconds(20));
        CHECK(on.in_flight() == 8);
        CHECK(owner.use_count() == 21);
        CHECK(gone == 0);
    }
    CHECK(gone == 20);
    CHECK(owner.use_count() == 1);
    // A read that the kernel still held would take this, into memory that is gone.
    pipe.write("untouched");
    CHECK(pipe.read() == "untouched");
}

TEST_CASE("ring: a context destroyed under disk writes waits for the kernel to end them") {
    if (!ring_available()) return;
    const temp_dir folder;
    const int descriptor = ::open((folder / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(descriptor >= 0);
    const auto owner = std::make_shared<const int>(0);
    const auto write_and_sync = [](ring& on, int to,
                                   std::shared_ptr<const int> kept) -> awaitable<void> {
        for (std::uint64_t i = 0;; ++i) {
            auto work = operation::write(kept, to, i << 16, {pattern(1 << 16)});
            work = co_await on.run(std::move(work));
            auto sync = operation::sync(kept, to, {});
            sync = co_await on.run(std::move(sync));
        }
    };
    for (int round = 0; round < 20; ++round) {
        asio::io_context context;
        ring& on = ring::of(context);
        for (int i = 0; i < 8; ++i) {
            asio::co_spawn(context, write_and_sync(on, descriptor, owner), on_end);
        }
        context.run_for(std::chrono::milliseconds(3));
    }
    CHECK(owner.use_count() == 1);
    ::close(descriptor);
}

awaitable<void> write_number(ring& on, int descriptor, std::uint64_t number, int& good) {
    auto work =
        operation::write(nullptr, descriptor, number * 100, {pattern(100, unsigned(number))});
    work = co_await on.run(std::move(work));
    auto read = operation::read(nullptr, descriptor, number * 100, 100);
    read = co_await on.run(std::move(read));
    const auto bytes = std::move(read).bytes();
    if (bytes && bytes->text() == pattern(100, unsigned(number)).text()) ++good;
}

awaitable<void> write_numbers(ring& on, int descriptor, std::uint64_t count, int& good) {
    const executor here = co_await asio::this_coro::executor;
    task_scope callers(here);
    for (std::uint64_t i = 0; i < count; ++i) {
        callers.spawn(write_number(on, descriptor, i, good));
    }
    co_await callers.join();
}

TEST_CASE("ring: more operations than the completion queue holds all end, each with its own") {
    if (!ring_available()) return;
    const temp_dir folder;
    const int descriptor = ::open((folder / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(descriptor >= 0);
    asio::io_context context;
    ring& on = ring::of(context, small());
    int good = 0;
    run_coro(context, write_numbers(on, descriptor, 5000, good));
    CHECK(good == 5000);
    CHECK(on.in_flight() == 0);
    ::close(descriptor);
}

awaitable<void> read_text(ring& on, int descriptor, std::string& text) {
    auto work = operation::read(nullptr, descriptor, std::uint64_t(-1), 5);
    work = co_await on.run(std::move(work));
    text = std::move(work).bytes().value().text();
}

awaitable<void> cancel_then_write(ring& on, const pipe_ends& pipe, std::string& text) {
    const executor here = co_await asio::this_coro::executor;
    task_scope callers(here);
    callers.spawn(read_text(on, pipe.reader(), text));
    for (int i = 0; i < 5; ++i) co_await asio::post(asio::use_awaitable);
    CHECK(on.in_flight() == 1);
    callers.request_stop();
    for (int i = 0; i < 5; ++i) co_await asio::post(asio::use_awaitable);
    CHECK(on.in_flight() == 1);
    pipe.write("after");
    co_await callers.join();
}

TEST_CASE("ring: a cancelled caller waits for its operation and gets its bytes") {
    if (!ring_available()) return;
    const pipe_ends pipe;
    asio::io_context context;
    ring& on = ring::of(context);
    std::string text;
    run_coro(context, cancel_then_write(on, pipe, text));
    CHECK(text == "after");
}

awaitable<bool> comes_home(ring& on, int descriptor, std::thread::id home) {
    auto work = operation::write(nullptr, descriptor, 0, {pattern(100)});
    work = co_await on.run(std::move(work));
    co_return work.status() && std::this_thread::get_id() == home;
}

TEST_CASE("ring: a caller on a foreign executor resumes there") {
    if (!ring_available()) return;
    const temp_dir folder;
    const int descriptor = ::open((folder / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    loop_thread owner("ring");
    ring& on = ring::of(owner.context());
    for (int i = 0; i < 100; ++i) {
        CHECK(run_coro(comes_home(on, descriptor, std::this_thread::get_id())));
    }
    ::close(descriptor);
}

TEST_CASE("ring: many foreign threads share one ring") {
    if (!ring_available()) return;
    const temp_dir folder;
    const int descriptor = ::open((folder / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    loop_thread owner("ring");
    ring& on = ring::of(owner.context(), small());
    asio::thread_pool strangers(4);
    std::vector<std::future<bool>> answers;
    for (int i = 0; i < 500; ++i) {
        auto read_back = [](ring& ring_, int file, unsigned number) -> awaitable<bool> {
            int good = 0;
            co_await write_number(ring_, file, number, good);
            co_return good == 1;
        };
        answers.push_back(
            asio::co_spawn(strangers, read_back(on, descriptor, unsigned(i)), asio::use_future));
    }
    int good = 0;
    for (auto& each : answers) good += each.get() ? 1 : 0;
    CHECK(good == 500);
    strangers.join();
    ::close(descriptor);
}

TEST_CASE("ring: idle, it does not keep its context running") {
    if (!ring_available()) return;
    const temp_dir folder;
    const int descriptor = ::open((folder / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    asio::io_context context;
    ring& on = ring::of(context);
    int good = 0;
    run_coro(context, write_numbers(on, descriptor, 10, good));  // returns when run() does
    CHECK(good == 10);
    run_coro(context, write_numbers(on, descriptor, 10, good));
    CHECK(good == 20);
    ::close(descriptor);
}

awaitable<error_code> sync_nothing(ring& on) {
    auto work = operation::sync(nullptr, -1, {});
    work = co_await on.run(std::move(work));
    co_return work.status().error();
}

TEST_CASE("ring: an operation that the kernel refuses is an error of that operation") {
    if (!ring_available()) return;
    asio::io_context context;
    ring& on = ring::of(context);
    CHECK(run_coro(context, sync_nothing(on)) == boost::system::errc::bad_file_descriptor);
}

TEST_CASE("ring: a context has one, and its thread finds it") {
    if (!ring_available()) return;
    CHECK(ring::of_this_thread() == nullptr);
    {
        asio::io_context context;
        ring& on = ring::of(context);
        CHECK(&ring::of(context) == &on);
        context.run();
        CHECK(ring::of_this_thread() == &on);
    }
    CHECK(ring::of_this_thread() == nullptr);
}

}  // namespace
}  // namespace cairn::test
