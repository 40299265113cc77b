// A TCP proxy on 127.0.0.1 that stands before a server and fails the way networks do.
//
// It has a thread of its own, so the test may block. Any one thread at a time calls the members,
// which take effect before they return. The destructor drops all connections.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace cairn::test {

// How bytes pass, both ways.
struct proxy_manner {
    bool stalled = false;                // not at all: the peer is silent, its sockets stay open
    std::chrono::milliseconds delay{0};  // so much later
    std::size_t piece_bytes = 64 << 10;  // in pieces of at most that size; 1: a dribble
};

class tcp_proxy {
public:
    enum class way { to_server, to_client };

    // Leads to a port of this machine. Throws boost::system::system_error.
    explicit tcp_proxy(std::uint16_t server_port);
    ~tcp_proxy();
    tcp_proxy(const tcp_proxy&) = delete;
    tcp_proxy& operator=(const tcp_proxy&) = delete;

    std::uint16_t port() const noexcept { return port_; }

    // From now on, for open connections too. A default one heals what a test did.
    void behave(proxy_manner how);

    // Cuts one connection: the first that has passed so many bytes that way, right behind them; 0
    // cuts the next one before any. Both ends read an end of file or a reset.
    void cut_after(way where, std::uint64_t bytes);
    void cut_all();

    // Bytes that passed so far, on all connections together.
    std::uint64_t passed(way where) const;
    std::size_t open_connections() const;

private:
    struct state;

    const std::unique_ptr<state> state_;
    std::uint16_t port_ = 0;
};

}  // namespace cairn::test
