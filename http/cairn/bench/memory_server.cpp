#include "http/cairn/bench/memory_server.hpp"

#include "http/server.hpp"
#include "store/open_store.hpp"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdio>

namespace cairn::bench {
namespace {

awaitable<void> serve_until_told(runtime& threads, http_server& server) {
    const executor home = co_await asio::this_coro::executor;
    asio::signal_set signals(home, SIGTERM);
    const std::unique_ptr<store> blobs = co_await open_memory_store(threads);
    const auto attached = co_await server.attach(*blobs);
    if (attached) {
        std::printf("listening on %s\n", server.url().c_str());
        std::fflush(stdout);
        co_await signals.async_wait(asio::use_awaitable_t<executor>());
    }
    co_await server.drain(std::chrono::seconds(1));
    co_await blobs->close();
}

}  // namespace

int serve_memory() {
    runtime_options loops;
    loops.threads = 1;
    runtime threads(loops);
    http_settings settings;
    settings.listen = "127.0.0.1:0";
    http_server server(threads, settings);
    server.start();
    threads.run(serve_until_told(threads, server));
    return 0;
}

}  // namespace cairn::bench
