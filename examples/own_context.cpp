// A server of your own on an io_context of your own, with a cairn store behind it: one line of text
// is a request, `PUT <text>` or `GET <id>`, and one line is its answer.
#include "store/open_store.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>

using namespace cairn;
using asio::ip::tcp;
using socket_type = tcp::socket;

// Every call of a store may be awaited from any executor, and comes back to it.
awaitable<std::string> answer_to(store& blobs, std::string_view line) {
    if (line.starts_with("PUT ")) {
        buffer_source body(buffer::copy_of(as_bytes(line.substr(4))));
        const auto stored = co_await blobs.put(body, std::nullopt);
        co_return stored ? stored->id.hex() : "error " + stored.error().message();
    }
    const auto id = line.starts_with("GET ") ? blob_id::parse(line.substr(4)) : std::nullopt;
    if (!id) co_return "error: PUT <text> or GET <id>";
    const byte_range whole;
    const auto opened = co_await blobs.get(*id, whole);
    if (!opened) co_return "error " + opened.error().message();
    if (*opened == nullptr) co_return "absent";
    const auto window = co_await (*opened)->next();
    co_return window ? std::string(window->text()) : "error " + window.error().message();
}

awaitable<void> serve(store& blobs, socket_type peer) {
    std::string received;
    while (true) {
        const auto [ec, size] = co_await asio::async_read_until(
            peer, asio::dynamic_buffer(received, 4096), '\n', asio::as_tuple(asio::use_awaitable));
        if (ec) co_return;  // the client is done
        const std::string line = received.substr(0, size - 1);
        received.erase(0, size);
        std::string answer = co_await answer_to(blobs, line);
        answer += '\n';
        co_await asio::async_write(peer, asio::buffer(answer), asio::use_awaitable);
    }
}

awaitable<std::string> ask(socket_type& server, std::string line) {
    line += '\n';
    co_await asio::async_write(server, asio::buffer(line), asio::use_awaitable);
    std::string answer;
    co_await asio::async_read_until(server, asio::dynamic_buffer(answer), '\n',
                                    asio::use_awaitable);
    answer.pop_back();
    co_return answer;
}

awaitable<void> try_it(store& blobs, asio::io_context& mine) {
    tcp::acceptor listener(mine, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    socket_type client(mine);
    client.connect(listener.local_endpoint());
    socket_type peer = co_await listener.async_accept(asio::use_awaitable);
    const auto on_end = [](std::exception_ptr) {};  // a client that went away
    asio::co_spawn(mine, serve(blobs, std::move(peer)), on_end);

    const std::string put = "PUT kept by cairn";
    const std::string id = co_await ask(client, put);
    const std::string get = "GET " + id;
    const std::string text = co_await ask(client, get);
    std::printf("%s holds %s\n", id.c_str(), text.c_str());
    if (text != "kept by cairn") throw std::runtime_error("that is not what was put");
}

int main() {
    runtime threads;  // the store's own: its writer, its readers, its ring
    store_options options;
    options.data = "blobs";
    const auto blobs = threads.run(open_store(threads, options)).value();

    asio::io_context mine;
    std::exception_ptr failure;
    const auto keep = [&failure](std::exception_ptr thrown) { failure = thrown; };
    asio::co_spawn(mine, try_it(*blobs, mine), keep);
    mine.run();

    threads.run(blobs->close());
    if (failure) std::rethrow_exception(failure);
}
