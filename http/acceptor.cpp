#include "http/acceptor.hpp"

#include "runtime/deadline.hpp"
#include "runtime/log.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <system_error>
#include <tuple>
#include <utility>

namespace cairn {
namespace {

using asio::ip::tcp;

// So many connections over the limit are told 503 at once; the rest is closed unheard.
constexpr std::size_t turned_away_max = 64;

// Out of descriptors or memory: accept() would fail again at once, and spin.
constexpr auto back_off = std::chrono::milliseconds(50);

[[noreturn]] void fail(const tcp::endpoint& at, const error_code& ec) {
    throw std::system_error(ec, fmt::format("listen {}:{}", at.address().to_string(), at.port()));
}

}  // namespace

acceptor::acceptor(server_context& server,
                   std::vector<std::unique_ptr<shard>>& shards,
                   const tcp::endpoint& at)
    : server_(server),
      shards_(shards),
      socket_(shards.front()->home()),
      local_(at),
      scope_(shards.front()->home()) {
    error_code ec;
    socket_.open(at.protocol(), ec);
    if (!ec) socket_.set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec) socket_.bind(at, ec);
    if (!ec) local_ = socket_.local_endpoint(ec);
    if (ec) fail(at, ec);
}

void acceptor::start() {
    error_code ec;
    socket_.listen(asio::socket_base::max_listen_connections, ec);
    if (ec) fail(local_, ec);
    asio::post(shards_.front()->home(), [this] { scope_.spawn(run()); });
}

awaitable<void> acceptor::stop() {
    scope_.request_stop();
    co_await scope_.join();
    error_code ignored;
    socket_.close(ignored);
}

awaitable<void> acceptor::run() {
    constexpr auto as_pair = asio::as_tuple(asio::use_awaitable_t<executor>());
    for (;;) {
        shard& to = next_shard();
        auto accepted = co_await socket_.async_accept(to.home(), as_pair);
        auto& [ec, socket] = accepted;
        if (ec == asio::error::operation_aborted) co_return;
        if (ec == asio::error::connection_aborted) continue;
        if (ec) {
            log_warn("http", "cannot accept connections: {}", ec.message());
            co_await sleep_for(back_off);
            continue;
        }
        const std::size_t count = server_.connections.load(std::memory_order_relaxed);
        if (count >= server_.settings.connections_max + turned_away_max) continue;
        server_.connections.fetch_add(1, std::memory_order_relaxed);
        ++accepted_;
        to.admit(std::move(socket), accepted_, count >= server_.settings.connections_max);
    }
}

shard& acceptor::next_shard() noexcept { return *shards_[accepted_ % shards_.size()]; }

}  // namespace cairn
