#include "http/cairn/bench/slow_files.hpp"

#include "http/cairn/bench/slow_disk.hpp"
#include "io/forwarding_files.hpp"
#include "runtime/waiter.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

namespace cairn::bench {
namespace {

// Completes, as syncs do: a cancelled caller waits as well.
awaitable<void> flushed() {
    const executor home = co_await asio::this_coro::executor;
    asio::steady_timer timer(home, this_disk().done_at(slow_disk::clock::now()));
    waiter self;
    const auto on_end = [&self](error_code) { self.resume(); };
    const auto link = [&] { timer.async_wait(on_end); };
    const auto withdraw = [] { return false; };
    co_await park(self, link, withdraw);
}

class slow_file final : public forwarding_file {
public:
    using forwarding_file::forwarding_file;

    awaitable<result<void>> sync(byte_range written) override {
        const auto done = co_await forwarding_file::sync(written);
        if (done) co_await flushed();
        co_return done;
    }
};

class slow_file_system final : public forwarding_file_system {
public:
    explicit slow_file_system(std::unique_ptr<file_system> real)
        : forwarding_file_system(*real), real_(std::move(real)) {}

    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override {
        auto opened = co_await forwarding_file_system::open(std::move(path), mode);
        if (!opened) co_return opened.error();
        co_return std::make_shared<slow_file>(std::move(*opened));
    }
    awaitable<result<void>> sync_directory(std::filesystem::path path) override {
        const auto done = co_await forwarding_file_system::sync_directory(std::move(path));
        if (done) co_await flushed();
        co_return done;
    }

private:
    const std::unique_ptr<file_system> real_;
};

}  // namespace

std::unique_ptr<file_system> on_slow_disk(std::unique_ptr<file_system> real) {
    return std::make_unique<slow_file_system>(std::move(real));
}

}  // namespace cairn::bench
