#include "tests/fault/herd.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::system_category(), what);
}

sockaddr_in loopback(std::uint32_t host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host);
    return address;
}

const sockaddr* plain(const sockaddr_in& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

int connect_from(std::size_t number, std::uint16_t port, int receive_bytes) {
    const int one = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (one < 0) fail("socket");
    const int on = 1;
    ::setsockopt(one, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (receive_bytes > 0) {
        ::setsockopt(one, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    const sockaddr_in from = loopback(1 + static_cast<std::uint32_t>(number % 200), 0);
    const sockaddr_in to = loopback(0, port);
    if (::bind(one, plain(from), sizeof from) != 0 || ::connect(one, plain(to), sizeof to) != 0) {
        const int reason = errno;
        ::close(one);
        errno = reason;
        fail("connect");
    }
    return one;
}

void reset_connection(int socket) {
    const linger now{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ::close(socket);
}

herd::herd(std::uint16_t port, habit of_all) : port_(port), habit_(std::move(of_all)) {
    poll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (poll_ < 0) fail("epoll_create1");
}

herd::~herd() {
    for (const member& one : members_) {
        if (one.socket >= 0) ::close(one.socket);
    }
    ::close(poll_);
}

void herd::join(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        add();
        if (i % habit_.joining == habit_.joining - 1) run(10ms);
    }
}

void herd::add() {
    member one;
    one.socket = connect_from(members_.size(), port_, habit_.receive_bytes);
    ::fcntl(one.socket, F_SETFL, O_NONBLOCK);
    one.born = clock::now();
    one.next_drip = one.born + habit_.pace;
    (void)!::send(one.socket, habit_.opening.data(), habit_.opening.size(), MSG_NOSIGNAL);
    epoll_event wanted{};
    wanted.events = habit_.reads ? EPOLLIN : 0U;  // that it broke is told in any case
    wanted.data.u64 = members_.size();
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, one.socket, &wanted) != 0) fail("epoll_ctl");
    members_.push_back(one);
    ++alive_;
}

void herd::run(std::chrono::milliseconds time) {
    const auto until = clock::now() + time;
    while (alive_ > 0 && clock::now() < until) {
        look(10ms);
        if (!habit_.drip.empty()) drip();
    }
}

void herd::look(std::chrono::milliseconds patience) {
    std::array<epoll_event, 256> events;
    const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()),
                                   static_cast<int>(patience.count()));
    for (int i = 0; i < count; ++i) {
        member& one = members_[events[static_cast<std::size_t>(i)].data.u64];
        std::array<char, 4096> taken;
        ssize_t got = 0;
        while (habit_.reads && (got = ::recv(one.socket, taken.data(), taken.size(), 0)) > 0) {
        }
        const bool waits = habit_.reads && got < 0 && (errno == EAGAIN || errno == EINTR);
        if (!waits) bury(one);
    }
}

void herd::drip() {
    const auto now = clock::now();
    for (member& one : members_) {
        if (one.socket < 0 || one.next_drip > now) continue;
        one.next_drip += habit_.pace;
        const char next = habit_.drip[one.dripped++ % habit_.drip.size()];
        (void)!::send(one.socket, &next, 1, MSG_NOSIGNAL);
    }
}

void herd::bury(member& one) {
    const auto life =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - one.born);
    longest_life_ = std::max(longest_life_, life);
    ::close(std::exchange(one.socket, -1));
    --alive_;
}

bool herd::vanish() {
    for (member& one : members_) {
        if (one.socket < 0) continue;
        // A socket under repair is closed without a packet.
        const int on = 1;
        if (::setsockopt(one.socket, IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) != 0) return false;
        ::close(std::exchange(one.socket, -1));
        --alive_;
    }
    return true;
}

}  // namespace cairn::test
