// `cairn serve` with one promise broken: the data syncs of segments answer and do nothing.
//
//     unsynced_server serve --data DIR --listen 127.0.0.1:0
//
// The mutant that the power-cut test must catch: the catalog syncs its own file, so rows become
// durable before the bytes that they point at (SAFETY.md R1).
#include "http/server.hpp"
#include "store/open_store.hpp"
#include "tests/support/forwarding_files.hpp"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace cairn;

// Segments alone are lied to: a folder whose marker is gone would be refused, which proves less.
class unsynced_segments final : public test::forwarding_file_system {
public:
    explicit unsynced_segments(std::unique_ptr<file_system> real)
        : forwarding_file_system(*real), real_(std::move(real)), lying_(*real_) {}

    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override {
        if (path.parent_path().filename() == "segments") return lying_.open(std::move(path), mode);
        return forwarding_file_system::open(std::move(path), mode);
    }

private:
    const std::unique_ptr<file_system> real_;
    test::unsynced_files lying_;
};

std::unique_ptr<file_system> without_syncs(std::unique_ptr<file_system> real) {
    return std::make_unique<unsynced_segments>(std::move(real));
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
