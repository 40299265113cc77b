#include "http/cairn/bench/http_caller.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace cairn::bench {
namespace {

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error("http: " + why); }

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

}  // namespace

http_caller::http_caller(std::uint16_t port)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = loopback(port);
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        ::close(socket_);
        fail("cannot connect");
    }
}

http_caller::~http_caller() { ::close(socket_); }

std::size_t http_caller::get(const std::string& target, int expected_status) {
    send("GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", nullptr, 0);
    return receive(expected_status);
}

void http_caller::put(const std::string& target,
                      const std::vector<std::byte>& body,
                      int expected_status) {
    send("PUT " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n",
         body.data(), body.size());
    receive(expected_status);
}

void http_caller::remove(const std::string& target) {
    send("DELETE " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", nullptr, 0);
    receive(204);
}

std::string_view http_caller::field(std::string_view name) const {
    const std::string_view head(received_.data(), head_bytes_);
    const std::string line = "\r\n" + std::string(name) + ": ";
    const auto same = [](char a, char b) { return std::tolower(a) == b; };
    const auto found = std::search(head.begin(), head.end(), line.begin(), line.end(), same);
    if (found == head.end()) return {};
    const auto begin = static_cast<std::size_t>(found - head.begin()) + line.size();
    return head.substr(begin, head.find('\r', begin) - begin);
}

void http_caller::send(std::string_view head, const void* body, std::size_t size_bytes) {
    iovec parts[] = {{const_cast<char*>(head.data()), head.size()},
                     {const_cast<void*>(body), size_bytes}};
    std::size_t left = head.size() + size_bytes;
    while (left > 0) {
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = 2;
        const ssize_t sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) fail("cannot send");
        left -= static_cast<std::size_t>(sent);
        auto skip = static_cast<std::size_t>(sent);
        for (iovec& part : parts) {
            const std::size_t count = std::min(skip, part.iov_len);
            part.iov_base = static_cast<char*>(part.iov_base) + count;
            part.iov_len -= count;
            skip -= count;
        }
    }
}

std::size_t http_caller::receive(int expected_status) {
    thread_local std::vector<char> scratch(256 << 10);
    received_.clear();
    std::size_t end = std::string::npos;
    while (end == std::string::npos) {
        const ssize_t got = ::recv(socket_, scratch.data(), scratch.size(), 0);
        if (got <= 0) fail("the connection ended");
        received_.append(scratch.data(), static_cast<std::size_t>(got));
        end = received_.find("\r\n\r\n");
    }
    head_bytes_ = end + 4;
    int status = 0;
    if (end > 12) std::from_chars(received_.data() + 9, received_.data() + 12, status);
    if (status != expected_status) fail("status " + std::to_string(status));
    if (status == 204) return 0;
    const std::string_view text = field("content-length");
    std::size_t length = 0;
    if (text.empty()) fail("an answer without its length");
    std::from_chars(text.data(), text.data() + text.size(), length);
    std::size_t left = length - (received_.size() - head_bytes_);
    while (left > 0) {
        const ssize_t got = ::recv(socket_, scratch.data(), std::min(left, scratch.size()), 0);
        if (got <= 0) fail("the connection ended in a body");
        left -= static_cast<std::size_t>(got);
    }
    return length;
}

http_listener::http_listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_, any, size) != 0 || ::getsockname(socket_, any, &size) != 0) {
        ::close(socket_);
        fail("no free port");
    }
    port_ = ntohs(address.sin_port);
}

http_listener::~http_listener() { ::close(socket_); }

}  // namespace cairn::bench
