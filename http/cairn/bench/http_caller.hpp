// The smallest HTTP client that checks its answers: blocking, one kept connection, one thread.
//
// It shares no code with the server and costs little beside it. Throws std::runtime_error for
// whatever is not the answer that was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::bench {

class http_caller {
public:
    explicit http_caller(std::uint16_t port);
    ~http_caller();
    http_caller(const http_caller&) = delete;
    http_caller& operator=(const http_caller&) = delete;

    // The body of the answer, dropped but for its length.
    std::size_t get(const std::string& target, int expected_status = 200);
    void put(const std::string& target, const std::vector<std::byte>& body, int expected_status);
    void remove(const std::string& target);

    // Of the last answer: its head, to the empty line, and the value of a field in it, empty when
    // there is none. The name is given in lower case.
    std::size_t head_bytes() const noexcept { return head_bytes_; }
    std::string_view field(std::string_view name) const;

private:
    void send(std::string_view head, const void* body, std::size_t size_bytes);
    std::size_t receive(int expected_status);

    int socket_ = -1;
    std::string received_;
    std::size_t head_bytes_ = 0;
};

// Holds a free port of this machine while it lives.
class http_listener {
public:
    http_listener();
    ~http_listener();
    http_listener(const http_listener&) = delete;
    http_listener& operator=(const http_listener&) = delete;

    std::uint16_t port() const noexcept { return port_; }

private:
    int socket_ = -1;
    std::uint16_t port_ = 0;
};

}  // namespace cairn::bench
