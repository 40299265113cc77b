#include "http/server.hpp"

#include "http/acceptor.hpp"
#include "http/bearer_token.hpp"
#include "http/endpoint.hpp"
#include "http/shard.hpp"
#include "runtime/check.hpp"
#include "runtime/log.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace cairn {
namespace {

using asio::ip::tcp;

tcp::endpoint resolve(const std::string& text) {
    const auto at = parse_host_port(text);
    if (!at) throw std::invalid_argument("listen " + text + ": not HOST:PORT");
    const std::string host = at->host == "localhost" ? "127.0.0.1" : at->host;
    error_code ec;
    const auto address = asio::ip::make_address(host, ec);
    if (!ec) return {address, at->port};
    asio::io_context context;
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(host, std::to_string(at->port), ec);
    if (ec) throw std::system_error(ec, "listen " + text);
    return *found.begin();
}

void check_access(const http_settings& settings, bool loopback) {
    const bool has_token = !settings.token.empty();
    if (has_token && !is_bearer_token(settings.token)) {
        throw std::invalid_argument("the token is not one of RFC 6750, of 16 characters or more");
    }
    if (has_token && settings.allow_anonymous) {
        throw std::invalid_argument("a token and --allow-anonymous contradict each other");
    }
    if (loopback || settings.allow_anonymous) return;
    if (!has_token) {
        throw std::invalid_argument(
            "listen " + settings.listen +
            ": everybody who reaches this address could read, write and remove blobs; --token-file "
            "asks them for a token, --allow-anonymous lets them");
    }
    log_warn("http", "listen {}: the token travels in clear, whoever sees the network learns it",
             settings.listen);
}

void ignore_sigpipe() {
    struct sigaction current {};
    ::sigaction(SIGPIPE, nullptr, &current);
    if (current.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

http_server::http_server(runtime& threads, http_settings settings) {
    const tcp::endpoint at = resolve(settings.listen);
    const std::string address = at.address().to_string();
    check_access(settings, is_loopback_address(address));
    ignore_sigpipe();
    context_ = std::make_unique<server_context>(std::move(settings), address, threads.metrics());
    for (std::size_t i = 0; i < threads.size(); ++i) {
        shards_.push_back(std::make_unique<shard>(*context_, threads.at(i)));
    }
    acceptor_ = std::make_unique<acceptor>(*context_, shards_, at);
    const auto* const shared = context_.get();
    connections_gauge_ = threads.metrics().add_gauge(
        "cairn_http_connections", "open client connections",
        [shared] { return static_cast<double>(shared->connections.load()); });
}

http_server::~http_server() { CAIRN_CHECK(state_ != state::started); }

void http_server::start() {
    CAIRN_CHECK(state_ == state::made);
    acceptor_->start();
    state_ = state::started;
}

awaitable<result<void>> http_server::attach(cairn::store& store) {
    const auto status = co_await store.status();
    if (!status) co_return status.error();
    context_->kept = status->kept;
    context_->store.store(&store, std::memory_order_release);
    co_return result<void>();
}

std::string http_server::url() const {
    const host_port at{acceptor_->local().address().to_string(), port()};
    return "http://" + at.text();
}

std::uint16_t http_server::port() const noexcept { return acceptor_->local().port(); }

std::size_t http_server::connection_count() const noexcept { return context_->connections.load(); }

awaitable<void> http_server::drain(std::chrono::milliseconds time) {
    if (state_ != state::started) co_return;
    state_ = state::drained;
    context_->draining = true;
    const deadline until = std::chrono::steady_clock::now() + time;
    const executor first = shards_.front()->home();
    co_await asio::co_spawn(first, acceptor_->stop(), asio::use_awaitable_t<executor>());
    for (const auto& each : shards_) each->begin_drain();
    for (const auto& each : shards_) {
        const executor home = each->home();
        co_await asio::co_spawn(home, each->finish_drain(until), asio::use_awaitable_t<executor>());
    }
}

}  // namespace cairn
