#include "tests/support/tcp_proxy.hpp"

#include "runtime/deadline.hpp"
#include "runtime/runtime.hpp"
#include "runtime/task_scope.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <set>
#include <utility>

namespace cairn::test {
namespace {

using asio::ip::tcp;

constexpr auto as_pair = asio::as_tuple(asio::use_awaitable_t<executor>());
constexpr auto stall_poll = std::chrono::milliseconds(2);

std::size_t index_of(tcp_proxy::way where) { return static_cast<std::size_t>(where); }

tcp::endpoint loopback(std::uint16_t port) { return {asio::ip::address_v4::loopback(), port}; }

// A client's socket and the one that was made for it. In the list of open ones while it lives.
class connection {
public:
    using list = std::set<connection*>;

    connection(tcp::socket client, tcp::socket server, list& open)
        : client_(std::move(client)), server_(std::move(server)), open_(open) {
        client_.set_option(tcp::no_delay(true));
        server_.set_option(tcp::no_delay(true));
        open_.insert(this);
    }
    ~connection() { open_.erase(this); }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    tcp::socket& from(tcp_proxy::way where) {
        return where == tcp_proxy::way::to_server ? client_ : server_;
    }
    tcp::socket& to(tcp_proxy::way where) {
        return where == tcp_proxy::way::to_server ? server_ : client_;
    }
    std::uint64_t& passed(tcp_proxy::way where) { return passed_[index_of(where)]; }

    void cut() {
        error_code ignored;
        client_.close(ignored);
        server_.close(ignored);
    }

private:
    tcp::socket client_;
    tcp::socket server_;
    list& open_;
    std::array<std::uint64_t, 2> passed_{};
};

struct planned_cut {
    tcp_proxy::way where;
    std::uint64_t bytes;
};

}  // namespace

// All of it is touched on the loop thread only.
struct tcp_proxy::state {
    explicit state(std::uint16_t server_port)
        : server(loopback(server_port)), acceptor(thread.get_executor(), loopback(0)) {}

    template <class Work>
    auto on_loop(Work work) {
        return asio::post(thread.get_executor(), asio::use_future(std::move(work))).get();
    }
    void start() {
        on_loop([this] { scope.spawn(accept()); });
    }
    void stop() {
        on_loop([this] {
            error_code ignored;
            acceptor.close(ignored);
            scope.request_stop();
        });
        asio::co_spawn(thread.get_executor(), scope.join(), asio::use_future).get();
    }
    void cut_all() {
        for (connection* const each : open) each->cut();
    }

    awaitable<void> accept();
    awaitable<void> connect(tcp::socket client);
    awaitable<void> pump(std::shared_ptr<connection> of, way where);
    awaitable<bool> pass(connection& of, way where, asio::const_buffer piece);

    loop_thread thread{"proxy"};
    const tcp::endpoint server;
    tcp::acceptor acceptor;
    connection::list open;
    std::array<std::uint64_t, 2> passed{};
    proxy_manner manner;
    std::optional<planned_cut> cut;
    task_scope scope{thread.get_executor()};
};

awaitable<void> tcp_proxy::state::accept() {
    for (;;) {
        auto [failed, client] = co_await acceptor.async_accept(as_pair);
        if (failed) co_return;
        scope.spawn(connect(std::move(client)));
    }
}

awaitable<void> tcp_proxy::state::connect(tcp::socket client) {
    if (cut && cut->bytes == 0) {
        cut.reset();
        co_return;
    }
    tcp::socket far(thread.get_executor());
    const auto [failed] = co_await far.async_connect(server, as_pair);
    if (failed) co_return;
    const auto made = std::make_shared<connection>(std::move(client), std::move(far), open);
    scope.spawn(pump(made, way::to_server));
    scope.spawn(pump(made, way::to_client));
}

// Carries one way until its end, which it passes on.
awaitable<void> tcp_proxy::state::pump(std::shared_ptr<connection> of, way where) {
    std::array<std::byte, 64 << 10> window;
    for (bool goes_on = true; goes_on;) {
        const auto space = asio::buffer(window);
        const auto [failed, count] = co_await of->from(where).async_read_some(space, as_pair);
        if (failed) break;
        asio::const_buffer left = asio::buffer(window.data(), count);
        while (goes_on && left.size() > 0) {
            const auto piece = asio::buffer(left, manner.piece_bytes);
            left += piece.size();
            goes_on = co_await pass(*of, where, piece);
        }
    }
    error_code ignored;
    of->to(where).shutdown(tcp::socket::shutdown_send, ignored);
}

// False when the connection is over.
awaitable<bool> tcp_proxy::state::pass(connection& of, way where, asio::const_buffer piece) {
    if (manner.delay.count() > 0) co_await sleep_for(manner.delay);
    while (manner.stalled && of.to(where).is_open()) co_await sleep_for(stall_poll);

    const bool last = cut && cut->where == where && cut->bytes <= of.passed(where) + piece.size();
    if (last) {
        piece = asio::buffer(piece, cut->bytes - std::min(cut->bytes, of.passed(where)));
        cut.reset();
    }
    const auto [failed, count] = co_await asio::async_write(of.to(where), piece, as_pair);
    of.passed(where) += count;
    passed[index_of(where)] += count;
    if (last) of.cut();
    co_return !failed && !last;
}

tcp_proxy::tcp_proxy(std::uint16_t server_port)
    : state_(std::make_unique<state>(server_port)),
      port_(state_->acceptor.local_endpoint().port()) {
    state_->start();
}

tcp_proxy::~tcp_proxy() { state_->stop(); }

void tcp_proxy::behave(proxy_manner how) {
    state_->on_loop([this, how] { state_->manner = how; });
}

void tcp_proxy::cut_after(way where, std::uint64_t bytes) {
    state_->on_loop([this, where, bytes] { state_->cut = planned_cut{where, bytes}; });
}

void tcp_proxy::cut_all() {
    state_->on_loop([this] { state_->cut_all(); });
}

std::uint64_t tcp_proxy::passed(way where) const {
    return state_->on_loop([this, where] { return state_->passed[index_of(where)]; });
}

std::size_t tcp_proxy::open_connections() const {
    return state_->on_loop([this] { return state_->open.size(); });
}

}  // namespace cairn::test
