// The proxy that the PostgreSQL fault tests rely on: it must cut where it was told to, or they show
// nothing.
#include "tests/support/tcp_proxy.hpp"

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <doctest/doctest.h>
#include <string>
#include <thread>

namespace cairn::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

tcp::endpoint loopback(std::uint16_t port) { return {asio::ip::address_v4::loopback(), port}; }

// Answers one connection after the other with what it sends, until stop() or its end.
class echo_server {
public:
    echo_server() : acceptor_(context_, loopback(0)), thread_([this] { serve(); }) {}
    ~echo_server() {
        stopping_ = true;
        tcp::socket(context_).connect(loopback(port()));
        thread_.join();
    }
    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

private:
    void serve() {
        for (;;) {
            tcp::socket socket = acceptor_.accept();
            if (stopping_) return;
            char window[4096];
            boost::system::error_code failed;
            for (;;) {
                const auto count = socket.read_some(asio::buffer(window), failed);
                if (failed) break;
                asio::write(socket, asio::buffer(window, count), failed);
            }
        }
    }

    asio::io_context context_;
    tcp::acceptor acceptor_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

class client {
public:
    explicit client(const tcp_proxy& to) { socket_.connect(loopback(to.port())); }

    // Sends it, and what came back until that was all or the connection ended.
    std::string echo(const std::string& text) {
        boost::system::error_code failed;
        asio::write(socket_, asio::buffer(text), failed);
        std::string answer(text.size(), ' ');
        answer.resize(asio::read(socket_, asio::buffer(answer), failed));
        return answer;
    }
    std::size_t available() const { return socket_.available(); }
    void send(const std::string& text) { asio::write(socket_, asio::buffer(text)); }
    // Waits for the end.
    bool ended() {
        char byte = 0;
        boost::system::error_code failed;
        return socket_.read_some(asio::buffer(&byte, 1), failed) == 0 && failed.failed();
    }

private:
    asio::io_context context_;
    tcp::socket socket_{context_};
};

const std::string text = "twenty bytes of text";

}  // namespace

TEST_CASE("tcp proxy: what is sent arrives, both ways, and is counted") {
    echo_server server;
    tcp_proxy proxy(server.port());
    client peer(proxy);
    CHECK(peer.echo(text) == text);
    CHECK(proxy.passed(tcp_proxy::way::to_server) == text.size());
    CHECK(proxy.passed(tcp_proxy::way::to_client) == text.size());
    CHECK(proxy.open_connections() == 1);
}

TEST_CASE("tcp proxy: a cut after k bytes lets exactly k through, once") {
    echo_server server;
    tcp_proxy proxy(server.port());
    for (std::size_t k = 0; k <= text.size(); ++k) {
        CAPTURE(k);
        proxy.cut_after(tcp_proxy::way::to_client, k);
        client cut(proxy);
        CHECK(cut.echo(text) == text.substr(0, k));
        CHECK(cut.ended());

        const auto before = proxy.passed(tcp_proxy::way::to_server);
        proxy.cut_after(tcp_proxy::way::to_server, k);
        client deaf(proxy);
        deaf.echo(text);
        CHECK(deaf.ended());
        CHECK(proxy.passed(tcp_proxy::way::to_server) == before + k);

        client later(proxy);
        CHECK(later.echo(text) == text);
    }
}

TEST_CASE("tcp proxy: a stalled one is silent and goes on where it stopped") {
    echo_server server;
    tcp_proxy proxy(server.port());
    client peer(proxy);
    CHECK(peer.echo(text) == text);
    proxy_manner silent;
    silent.stalled = true;
    proxy.behave(silent);
    peer.send(text);
    std::this_thread::sleep_for(50ms);
    CHECK(peer.available() == 0);
    proxy.behave({});
    CHECK(peer.echo(text) == text);
}

TEST_CASE("tcp proxy: a dribble and a delay change the time, not the bytes") {
    echo_server server;
    tcp_proxy proxy(server.port());
    client peer(proxy);
    proxy_manner slow;
    slow.delay = 1ms;
    slow.piece_bytes = 1;
    proxy.behave(slow);
    const auto began = std::chrono::steady_clock::now();
    CHECK(peer.echo(text) == text);
    CHECK(std::chrono::steady_clock::now() - began >= text.size() * 1ms);
}

TEST_CASE("tcp proxy: cut_all ends open connections, and the next one is served") {
    echo_server server;
    tcp_proxy proxy(server.port());
    client first(proxy);
    CHECK(first.echo(text) == text);
    proxy.cut_all();
    CHECK(first.ended());
    client second(proxy);
    CHECK(second.echo(text) == text);
}

TEST_CASE("tcp proxy: without a server a client is turned away") {
    std::uint16_t port = 0;
    {
        const echo_server gone;
        port = gone.port();
    }
    tcp_proxy proxy(port);
    client peer(proxy);
    CHECK(peer.ended());
}

}  // namespace cairn::test
