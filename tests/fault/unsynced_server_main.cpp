// `cairn serve` with one promise broken: the data syncs of segments answer and do nothing.
//
//     unsynced_server serve --data DIR --listen 127.0.0.1:0
//
// The mutant that the power-cut test must catch. Only the segments are lied to; the catalog syncs
// its own file, so rows become durable before the bytes that they point at (SAFETY.md R1).
#include "http/server.hpp"
#include "store/open_store.hpp"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace cairn;

class unsynced_file final : public file {
public:
    explicit unsynced_file(std::shared_ptr<file> real) : real_(std::move(real)) {}

    awaitable<result<void>> sync() override { co_return result<void>(); }

    awaitable<result<buffer>> read_at(std::uint64_t offset, std::size_t size_bytes) override {
        return real_->read_at(offset, size_bytes);
    }
    std::optional<buffer> try_read_at(std::uint64_t offset, std::size_t size_bytes) override {
        return real_->try_read_at(offset, size_bytes);
    }
    awaitable<result<void>> write_at(std::uint64_t offset, buffer bytes) override {
        return real_->write_at(offset, std::move(bytes));
    }
    awaitable<result<void>> preallocate(std::uint64_t size_bytes) override {
        return real_->preallocate(size_bytes);
    }
    awaitable<result<void>> punch(std::uint64_t offset, std::uint64_t size_bytes) override {
        return real_->punch(offset, size_bytes);
    }
    awaitable<result<void>> truncate(std::uint64_t size_bytes) override {
        return real_->truncate(size_bytes);
    }
    awaitable<result<std::uint64_t>> size() override { return real_->size(); }
    int native_handle() const noexcept override { return real_->native_handle(); }

private:
    const std::shared_ptr<file> real_;
};

class unsynced_file_system final : public file_system {
public:
    explicit unsynced_file_system(std::unique_ptr<file_system> real) : real_(std::move(real)) {}

    std::string name() const override { return real_->name() + " without syncs"; }

    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override {
        const bool is_segment = path.parent_path().filename() == "segments";
        auto opened = co_await real_->open(std::move(path), mode);
        if (!opened || !is_segment) co_return opened;
        co_return std::make_shared<unsynced_file>(std::move(*opened));
    }
    awaitable<result<void>> remove(std::filesystem::path path) override {
        return real_->remove(std::move(path));
    }
    awaitable<result<void>> rename(std::filesystem::path from, std::filesystem::path to) override {
        return real_->rename(std::move(from), std::move(to));
    }
    awaitable<result<void>> make_directory(std::filesystem::path path) override {
        return real_->make_directory(std::move(path));
    }
    awaitable<result<void>> sync_directory(std::filesystem::path path) override {
        return real_->sync_directory(std::move(path));
    }
    awaitable<result<std::vector<std::string>>> list(std::filesystem::path path) override {
        return real_->list(std::move(path));
    }
    awaitable<result<std::uint64_t>> free_space(std::filesystem::path path) override {
        return real_->free_space(std::move(path));
    }

private:
    const std::unique_ptr<file_system> real_;
};

std::unique_ptr<file_system> without_syncs(std::unique_ptr<file_system> real) {
    return std::make_unique<unsynced_file_system>(std::move(real));
}

void wait_for_sigterm() {
    boost::asio::io_context context;
    boost::asio::signal_set signals(context, SIGTERM);
    signals.async_wait([](const boost::system::error_code&, int) {});
    std::cout.flush();
    context.run();
}

void serve(const std::string& data_dir) {
    runtime threads;
    store_options options;
    options.data = data_dir;
    options.wrap_files = without_syncs;
    auto opened = threads.run(open_store(threads, std::move(options)));
    store& store = *opened.value();
    http_settings settings;
    settings.listen = "127.0.0.1:0";
    http_server server(threads, std::move(settings));
    server.start();
    threads.run(server.attach(store)).value();
    std::cout << "listening on " << server.url() << '\n';
    wait_for_sigterm();
    threads.run(server.drain(std::chrono::seconds(5)));
    threads.run(store.close());
}

}  // namespace

int main(int count, char** words) {
    if (count < 4 || std::strcmp(words[2], "--data") != 0) {
        std::cerr << "usage: serve --data DIR\n";
        return 2;
    }
    serve(words[3]);
    return 0;
}
