#include "http/client_connection.hpp"

#include "engines/source.hpp"
#include "http/head.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <cstring>
#include <utility>

namespace cairn {
namespace {

using asio::ip::tcp;

constexpr auto client_tick = std::chrono::milliseconds(500);

awaitable<result<stream::socket_type>> connect(host_port to) {
    constexpr auto as_pair = asio::as_tuple(asio::use_awaitable_t<executor>());
    const executor home = co_await asio::this_coro::executor;
    asio::ip::basic_resolver<tcp, executor> resolver(home);
    const std::string port = std::to_string(to.port);
    const auto found = co_await resolver.async_resolve(to.host, port, as_pair);
    if (std::get<0>(found)) co_return std::get<0>(found);
    stream::socket_type socket(home);
    const auto connected = co_await asio::async_connect(socket, std::get<1>(found), as_pair);
    if (std::get<0>(connected)) co_return std::get<0>(connected);
    co_return socket;
}

}  // namespace

awaitable<result<std::unique_ptr<client_connection>>> client_connection::open(
    host_port to, client_settings settings) {
    const executor home = co_await asio::this_coro::executor;
    const deadline until = std::chrono::steady_clock::now() + settings.connect_time;
    auto socket = co_await before(until, connect(std::move(to)));
    if (!socket) co_return socket.error();
    co_return std::make_unique<client_connection>(home, std::move(*socket), settings);
}

client_connection::client_connection(executor home,
                                     stream::socket_type socket,
                                     client_settings settings)
    : home_(home),
      settings_(settings),
      watch_(std::move(home), client_tick),
      stream_(std::move(socket), watch_) {}

awaitable<result<void>> client_connection::send(byte_view head, byte_view body) {
    return stream_.write(head, body, settings_.stall_time);
}

awaitable<result<std::size_t>> client_connection::await_reply(std::chrono::milliseconds time) {
    if (received_.unread().empty()) {
        const auto got = co_await receive(std::chrono::steady_clock::now() + time);
        if (!got && got.error() != errc::timed_out) co_return got.error();
        if (got && *got == 0) co_return error_code(errc::closed);
    }
    co_return received_.unread().size();
}

awaitable<result<reply_head>> client_connection::read_head(std::string_view method) {
    const deadline until = std::chrono::steady_clock::now() + settings_.reply_time;
    std::size_t size = 0;
    while ((size = find_reply_end(received_.unread())) == 0) {
        if (received_.unread().size() > head_bytes_max) co_return error_code(errc::malformed);
        const auto more = co_await receive(until);
        if (!more) co_return more.error();
        if (*more == 0) {
            const bool nothing = received_.unread().empty();
            co_return error_code(nothing ? errc::closed : errc::short_body);
        }
    }
    auto head = parse_reply(received_.unread().substr(0, size));
    received_.consume(size);
    if (!head) co_return error_code(errc::malformed);

    keeps_alive_ = head->keeps_alive;
    at_end_ = false;
    left_ = head->content_length.value_or(0);
    decoder_ = {};
    framing_ = framing::none;
    if (head->has_body(method)) {
        framing_ = head->chunked          ? framing::chunked
                   : head->content_length ? framing::length
                                          : framing::to_end;
    }
    co_return std::move(*head);
}

awaitable<result<buffer>> client_connection::read_body() {
    const std::size_t size =
        framing_ == framing::length
            ? static_cast<std::size_t>(std::min<std::uint64_t>(left_, window_bytes))
            : window_bytes;
    buffer window;
    if (!body_ended()) window = buffer::allocate(size);
    std::size_t filled = 0;
    while (!body_ended() && filled < window.size()) {
        const std::string_view unread = received_.unread();
        const std::uint64_t run = run_bytes();
        const deadline until = std::chrono::steady_clock::now() + settings_.stall_time;
        if (!unread.empty() && run == 0) {
            const auto eaten = decoder_.eat(unread);
            if (!eaten) co_return eaten.error();
            received_.consume(*eaten);
        } else if (!unread.empty()) {
            const auto count = static_cast<std::size_t>(
                std::min<std::uint64_t>(run, std::min(unread.size(), window.size() - filled)));
            std::memcpy(window.mutable_data() + filled, unread.data(), count);
            received_.consume(count);
            moved(count);
            filled += count;
        } else if (run > 0) {
            const auto room =
                static_cast<std::size_t>(std::min<std::uint64_t>(run, window.size() - filled));
            const auto got =
                co_await stream_.read_some(window.mutable_view().subspan(filled, room), until);
            if (!got) co_return got.error();
            at_end_ = *got == 0;
            if (at_end_ && framing_ != framing::to_end) co_return error_code(errc::short_body);
            moved(*got);
            filled += *got;
        } else {
            const auto more = co_await receive(until);
            if (!more) co_return more.error();
            if (*more == 0) co_return error_code(errc::short_body);
        }
    }
    window.truncate(filled);
    co_return window;
}

bool client_connection::body_ended() const noexcept {
    switch (framing_) {
        case framing::none: return true;
        case framing::length: return left_ == 0;
        case framing::chunked: return decoder_.done();
        case framing::to_end: return at_end_;
    }
    return true;
}

// 0 at the server's end.
awaitable<result<std::size_t>> client_connection::receive(deadline at) {
    const auto got = co_await stream_.read_some(received_.room(), at);
    if (got) received_.filled(*got);
    co_return got;
}

std::uint64_t client_connection::run_bytes() const noexcept {
    switch (framing_) {
        case framing::none: return 0;
        case framing::length: return left_;
        case framing::chunked: return decoder_.data_bytes();
        case framing::to_end: return UINT64_MAX;
    }
    return 0;
}

void client_connection::moved(std::uint64_t count) noexcept {
    if (framing_ == framing::length) left_ -= count;
    if (framing_ == framing::chunked) decoder_.moved(count);
}

}  // namespace cairn
