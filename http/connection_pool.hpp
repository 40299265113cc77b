// The connections to one server that are open and idle.
//
// A connection belongs to the executor that opened it, so a caller gets one of its own executor's
// or a new one. At most `idle_max` are kept. Any thread.
#pragma once

#include "http/client_connection.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// A reply whose head is read; its body is still in the connection.
struct reply {
    std::unique_ptr<client_connection> connection;
    reply_head head;
};

// Whether an error means that a kept connection had been closed by the server before it read the
// request: then the request may run again on a new one.
bool is_stale(const error_code& ec) noexcept;

class connection_pool {
public:
    static constexpr std::size_t idle_max = 16;

    struct taken {
        std::unique_ptr<client_connection> connection;
        bool used_before = false;  // the server may have closed it meanwhile
    };

    // With a token, every request brings it.
    connection_pool(host_port to, client_settings settings, std::string_view token = {});

    const host_port& to() const noexcept { return to_; }

    // An idle connection, or with `fresh` and when there is none a new one. errc::closed after
    // close().
    awaitable<result<taken>> take(bool fresh = false);

    // The head of a request for this server.
    std::string head_of(std::string_view method,
                        std::string_view target,
                        std::string_view fields) const;

    // Keeps the connection when it can be used again. On its executor.
    void give_back(std::unique_ptr<client_connection> connection);

    // Closes what is idle, and whatever is given back from now on.
    void close();

private:
    std::unique_ptr<client_connection> take_idle(const executor& home);

    const host_port to_;
    const client_settings settings_;
    const std::string own_fields_;  // of every request, each with its CRLF
    std::mutex mutex_;
    bool closed_ = false;
    std::vector<std::unique_ptr<client_connection>> idle_;
};

}  // namespace cairn
