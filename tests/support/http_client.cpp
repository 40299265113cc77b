#include "tests/support/http_client.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <system_error>
#include <unistd.h>

namespace cairn::test {
namespace {

[[noreturn]] void lose(const std::string& doing) {
    throw connection_lost(doing + ": " + std::generic_category().message(errno));
}

std::string lower(std::string_view text) {
    std::string copy(text);
    std::transform(copy.begin(), copy.end(), copy.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return copy;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

std::uint64_t number(std::string_view digits, int base, const char* what) {
    std::uint64_t value = 0;
    const auto end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, value, base);
    if (parsed.ec != std::errc() || parsed.ptr != end)
        throw connection_lost(std::string(what) + " is not a number: " + std::string(digits));
    return value;
}

}  // namespace

std::string_view http_response::header(std::string_view name) const {
    for (const auto& [key, value] : headers)
        if (key == name) return value;
    return {};
}

std::size_t http_response::count(std::string_view name) const {
    return static_cast<std::size_t>(std::count_if(
        headers.begin(), headers.end(), [&](const auto& entry) { return entry.first == name; }));
}

http_client::http_client(const std::string& host,
                         std::uint16_t port,
                         std::chrono::milliseconds patience)
    : authority_(host + ":" + std::to_string(port)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
        throw connection_lost("not an IPv4 address: " + host);
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) lose("socket");

    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
    const auto rest = std::chrono::microseconds(patience) - seconds;
    const timeval limit{static_cast<time_t>(seconds.count()),
                        static_cast<suseconds_t>(rest.count())};
    const int on = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int reason = errno;
        ::close(socket_);
        errno = reason;
        lose("connect to " + authority_);
    }
}

http_client::~http_client() {
    if (socket_ >= 0) ::close(socket_);
}

http_client::http_client(http_client&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      authority_(std::move(other.authority_)),
      received_(std::move(other.received_)),
      consumed_(other.consumed_) {}

http_response http_client::request(std::string_view method,
                                   std::string_view target,
                                   const http_headers& headers,
                                   std::string_view body) {
    std::string head;
    head.append(method).append(" ").append(target).append(" HTTP/1.1\r\n");
    head.append("Host: ").append(authority_).append("\r\n");
    for (const auto& [name, value] : headers)
        head.append(name).append(": ").append(value).append("\r\n");
    if (!body.empty() || method == "PUT" || method == "POST")
        head.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
    head.append("\r\n");
    // One segment for small requests: two would measure the peer's delayed acknowledgement instead
    // of the peer.
    if (body.size() <= 16 * 1024) {
        head.append(body);
        send_raw(head);
    } else {
        send_raw(head);
        send_raw(body);
    }
    http_response response = receive(method == "HEAD");
    while (response.status < 200) response = receive(method == "HEAD");
    return response;
}

void http_client::send_raw(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) lose("send to " + authority_);
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

http_response http_client::receive(bool answers_head) {
    http_response response;
    const std::string status_line = take_line();
    if (status_line.size() < 12 || !status_line.starts_with("HTTP/1."))
        throw connection_lost("not a status line: " + status_line);
    response.status =
        static_cast<int>(number(std::string_view(status_line).substr(9, 3), 10, "status"));
    for (std::string line = take_line(); !line.empty(); line = take_line()) {
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) throw connection_lost("not a header field: " + line);
        const std::string_view view = line;
        response.headers.emplace_back(lower(view.substr(0, colon)), trim(view.substr(colon + 1)));
    }
    const bool bodiless =
        answers_head || response.status < 200 || response.status == 204 || response.status == 304;
    if (bodiless) return response;
    if (response.header("transfer-encoding") == "chunked")
        response.body = take_chunked();
    else if (response.count("content-length") != 0)
        response.body = take(number(response.header("content-length"), 10, "content-length"));
    else
        response.body = take_until_end();
    return response;
}

void http_client::finish_sending() { ::shutdown(socket_, SHUT_WR); }

bool http_client::closed_by_peer() {
    if (consumed_ < received_.size()) return false;
    char byte = 0;
    ssize_t got = 0;
    do got = ::recv(socket_, &byte, 1, 0);
    while (got < 0 && errno == EINTR);
    return got == 0 || (got < 0 && errno == ECONNRESET);
}

void http_client::fill() {
    if (consumed_ == received_.size()) {
        received_.clear();
        consumed_ = 0;
    }
    constexpr std::size_t step = 64 * 1024;
    const std::size_t before = received_.size();
    received_.resize(before + step);
    ssize_t got = 0;
    do got = ::recv(socket_, received_.data() + before, step, 0);
    while (got < 0 && errno == EINTR);
    received_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) lose("receive from " + authority_);
    if (got == 0) throw connection_lost(authority_ + " closed the connection");
}

std::string http_client::take(std::size_t count) {
    while (received_.size() - consumed_ < count) fill();
    std::string bytes = received_.substr(consumed_, count);
    consumed_ += count;
    return bytes;
}

std::string http_client::take_line() {
    for (;;) {
        const std::size_t end = received_.find("\r\n", consumed_);
        if (end == std::string::npos) {
            fill();
            continue;
        }
        std::string line = received_.substr(consumed_, end - consumed_);
        consumed_ = end + 2;
        return line;
    }
}

std::string http_client::take_chunked() {
    std::string body;
    for (;;) {
        const std::string line = take_line();
        const std::size_t size =
            number(std::string_view(line).substr(0, line.find(';')), 16, "chunk size");
        if (size == 0) break;
        body += take(size);
        if (!take_line().empty()) throw connection_lost("a chunk is longer than its size");
    }
    while (!take_line().empty()) {
    }
    return body;
}

std::string http_client::take_until_end() {
    std::string body = received_.substr(consumed_);
    consumed_ = received_.size();
    char window[16 * 1024];
    for (;;) {
        const ssize_t got = ::recv(socket_, window, sizeof window, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) lose("receive from " + authority_);
        if (got == 0) return body;
        body.append(window, static_cast<std::size_t>(got));
    }
}

}  // namespace cairn::test
