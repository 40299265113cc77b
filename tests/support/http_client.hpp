// A blocking HTTP/1.1 client on one kept-alive connection: small enough to be trusted where the
// server is what is tested.
//
// It shares no code with the server. One thread at a time; the object owns its socket. Every
// failure to connect, send or receive a whole response throws `connection_lost`, after which the
// object is only good for destruction: an answer that did not arrive whole is no answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::test {

struct connection_lost : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using http_headers = std::vector<std::pair<std::string, std::string>>;

struct http_response {
    int status = 0;
    http_headers headers;  // in the order of the wire, names in lower case
    std::string body;      // without chunked framing

    // The first value of a header, empty when it is missing; `name` in lower case.
    std::string_view header(std::string_view name) const;
    std::size_t count(std::string_view name) const;
};

class http_client {
public:
    // Connects; `patience` bounds every single wait for the socket from then on.
    http_client(const std::string& host,
                std::uint16_t port,
                std::chrono::milliseconds patience = std::chrono::seconds(30));
    ~http_client();
    http_client(http_client&& other) noexcept;
    http_client& operator=(http_client&&) = delete;

    // Sends one request (adding Host, and Content-Length where there is a body) and returns its
    // final response; interim 1xx responses are passed over.
    http_response request(std::string_view method,
                          std::string_view target,
                          const http_headers& headers = {},
                          std::string_view body = {});

    http_response get(std::string_view target, const http_headers& headers = {}) {
        return request("GET", target, headers);
    }
    http_response head(std::string_view target, const http_headers& headers = {}) {
        return request("HEAD", target, headers);
    }
    http_response put(std::string_view target,
                      std::string_view body,
                      const http_headers& headers = {}) {
        return request("PUT", target, headers, body);
    }
    http_response post(std::string_view target,
                       std::string_view body,
                       const http_headers& headers = {}) {
        return request("POST", target, headers, body);
    }
    http_response remove(std::string_view target) { return request("DELETE", target); }

    // For requests that no well-behaved client would send: bytes as they are, and the next response
    // as it is, 1xx too.
    void send_raw(std::string_view bytes);
    http_response receive(bool answers_head = false);

    // Ends our half of the connection; the server reads an end of file.
    void finish_sending();
    // Waits until the server closes; false when it sent bytes or `patience` ran out instead.
    bool closed_by_peer();

    // The socket, for tests that set options or reset the connection; still owned here.
    int descriptor() const { return socket_; }

private:
    void fill();                          // at least one more byte into received_
    std::string take(std::size_t count);  // exactly that many bytes
    std::string take_line();              // up to CRLF, which is dropped
    std::string take_chunked();
    std::string take_until_end();

    int socket_ = -1;
    std::string authority_;
    std::string received_;  // read from the socket and not yet consumed
    std::size_t consumed_ = 0;
};

}  // namespace cairn::test
