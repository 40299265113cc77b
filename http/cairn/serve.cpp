// cairn serve: opens a store and serves it until it is told to stop.
#include "http/bearer_token.hpp"
#include "http/cairn/location.hpp"
#include "http/cairn/verbs.hpp"
#include "http/server.hpp"
#include "runtime/log.hpp"

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <sys/resource.h>
#include <utility>

namespace cairn::program {
namespace {

// Descriptors that are not connections: segments, the catalog, rings.
constexpr std::size_t descriptors_kept = 512;

// As many descriptors as we may have, and no more connections than they allow.
void fit_descriptors(http_settings& settings) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const std::size_t all = limit.rlim_cur;
    const std::size_t room = all > 2 * descriptors_kept ? all - descriptors_kept : all / 2;
    settings.connections_max = std::min(settings.connections_max, room);
}

awaitable<int> run_server(runtime& threads, http_server& server, const serve_options& options) {
    const executor home = co_await asio::this_coro::executor;
    asio::signal_set signals(home, SIGTERM, SIGINT);
    server.start();
    auto opened = co_await open_store(threads, options.store);
    if (!opened) {
        complain(place_of(options.store.data.string(), options.store.catalog), opened.error());
        co_await server.drain(std::chrono::milliseconds(0));
        co_return status_of(opened.error());
    }
    store& served = **opened;
    const auto attached = co_await server.attach(served);
    if (attached) {
        std::printf("listening on %s\n", server.url().c_str());
        std::fflush(stdout);
        const int signal = co_await signals.async_wait(asio::use_awaitable_t<executor>());
        // A second signal is not caught: it ends the process, which the store survives.
        signals.clear();
        log_info("serve", "signal {}: finishing what is in flight, {} connections", signal,
                 server.connection_count());
    } else {
        complain("status", attached.error());
    }
    co_await server.drain(options.drain_time);
    co_await served.close();
    log_info("serve", "closed");
    co_return attached ? exit_done : exit_trouble;
}

}  // namespace

int serve(const serve_options& options) {
    http_settings settings = options.http;
    fit_descriptors(settings);
    runtime_options loops;
    if (options.threads > 0) loops.threads = options.threads;
    runtime threads(loops);
    try {
        if (!options.token_file.empty()) settings.token = read_token_file(options.token_file);
        http_server server(threads, std::move(settings));
        return threads.run(run_server(threads, server, options));
    } catch (const std::invalid_argument& e) {
        throw usage_error(e.what());
    }
}

}  // namespace cairn::program
