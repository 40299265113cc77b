#include "http/stream.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

namespace cairn {
namespace {

// What the kernel holds of a connection beside what is on its way: enough to keep a fast reader
// busy. Without a bound it takes 2.5 MiB, or 4, for every reader that takes nothing.
constexpr int unsent_bytes_max = 256 << 10;

constexpr auto as_pair = asio::as_tuple(asio::use_awaitable_t<executor>());

result<std::size_t> send_pieces(int socket, byte_view head, byte_view body, int flags) noexcept {
    iovec pieces[2] = {{const_cast<std::byte*>(head.data()), head.size()},
                       {const_cast<std::byte*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = body.empty() ? 1 : 2;
    for (;;) {
        const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT | flags);
        if (sent >= 0) return static_cast<std::size_t>(sent);
        if (errno == EAGAIN) return std::size_t{0};
        if (errno != EINTR) return last_system_error();
    }
}

}  // namespace

stream::stream(socket_type socket, deadline_watch& watch)
    : entry(watch), socket_(std::move(socket)) {
    // Errors show again at the first read or write, which answers them.
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    const asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT> unsent(
        unsent_bytes_max);
    socket_.set_option(unsent, ignored);
}

stream::~stream() = default;

error_code stream::explain(error_code ec) {
    if (ec != asio::error::operation_aborted) return ec;
    if (std::exchange(expired_, false)) return errc::timed_out;
    throw boost::system::system_error(ec);
}

awaitable<result<std::size_t>> stream::read_some(mutable_byte_view room, deadline at) {
    expired_ = false;
    due_at(at);
    const auto into = asio::buffer(room.data(), room.size());
    const auto done = co_await socket_.async_read_some(into, as_pair);
    never_due();
    const auto& [ec, count] = done;
    if (!ec) co_return count;
    if (ec == asio::error::eof) co_return std::size_t{0};
    co_return explain(ec);
}

result<std::size_t> stream::try_write(byte_view head, byte_view body) noexcept {
    return send_pieces(socket_.native_handle(), head, body, 0);
}

awaitable<result<void>> stream::write(byte_view head,
                                      byte_view body,
                                      std::chrono::milliseconds stall,
                                      bool more) {
    while (!head.empty() || !body.empty()) {
        const auto sent = send_pieces(socket_.native_handle(), head, body, more ? MSG_MORE : 0);
        if (!sent) co_return sent.error();
        const std::size_t of_head = std::min(*sent, head.size());
        head = head.subspan(of_head);
        body = body.subspan(*sent - of_head);
        if (*sent > 0) continue;
        auto writable = co_await wait_writable(stall);
        if (!writable) co_return writable.error();
    }
    co_return result<void>();
}

awaitable<result<std::size_t>> stream::send_file(const file& from,
                                                 std::uint64_t offset,
                                                 std::size_t size_bytes,
                                                 std::chrono::milliseconds stall) {
    for (;;) {
        auto position = static_cast<off_t>(offset);
        const ssize_t sent =
            ::sendfile(socket_.native_handle(), from.native_handle(), &position, size_bytes);
        if (sent > 0) co_return static_cast<std::size_t>(sent);
        // Bytes that the catalog promised are not there: the file was cut.
        if (sent == 0) co_return error_code(errc::corrupt);
        if (errno == EINTR) continue;
        if (errno != EAGAIN) co_return last_system_error();
        auto writable = co_await wait_writable(stall);
        if (!writable) co_return writable.error();
    }
}

awaitable<result<void>> stream::wait_writable(std::chrono::milliseconds stall) {
    expired_ = false;
    due_at(std::chrono::steady_clock::now() + stall);
    const auto done = co_await socket_.async_wait(socket_type::wait_write, as_pair);
    never_due();
    if (!std::get<0>(done)) co_return result<void>();
    const error_code why = explain(std::get<0>(done));
    if (why == errc::timed_out) forget_unsent();
    co_return why;
}

void stream::forget_unsent() noexcept {
    // Not by set_option: Asio would take it back when it closes the socket.
    const linger at_once{1, 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool stream::is_readable() noexcept {
    pollfd wanted{socket_.native_handle(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) > 0;
}

void stream::interrupt() {
    expired_ = true;
    error_code ignored;
    socket_.cancel(ignored);
}

void stream::finish_writing() noexcept {
    error_code ignored;
    socket_.shutdown(socket_type::shutdown_send, ignored);
}

}  // namespace cairn
