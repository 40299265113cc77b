// What a server can be told. Every limit is a setting, so that tests can shrink it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cairn {

struct http_settings {
    std::string listen = "127.0.0.1:7480";  // HOST:PORT; port 0 picks a free one
    // Everybody who reaches the port may read and write: needed where that is not only this
    // machine.
    bool allow_anonymous = false;
    // What every request must bring but those for /healthz and /readyz (RFC 6750); empty: nothing.
    std::string token;
    std::string cors_origin;  // whose pages may use the API from a browser: an origin, `*`, or none

    std::uint64_t blob_bytes_max = std::uint64_t{1} << 40;
    // All windows of all bodies together; a request that finds it used up is answered 503 early.
    std::uint64_t body_bytes = 128 << 20;
    // What all batches together may hold in memory; one that finds it used up takes its blobs one
    // after another.
    std::uint64_t batch_bytes = 64 << 20;
    std::size_t connections_max = 10'000;  // one more is answered 503 and closed

    std::chrono::milliseconds head_time{10'000};   // for a head in total, from its first byte
    std::chrono::milliseconds idle_time{60'000};   // between requests
    std::chrono::milliseconds stall_time{30'000};  // while the peer takes nothing
    // A body brings at least body_rate_min bytes a second, averaged over body_period of waiting.
    std::chrono::milliseconds body_period{30'000};
    std::uint64_t body_rate_min = 1024;
    // A window that is not full by then is handed on short, so that a slow sender holds none for
    // long.
    std::chrono::milliseconds window_time{1'000};
    // How long a closing connection still takes in what its peer sends, so that a reset does not
    // overtake our answer.
    std::chrono::milliseconds linger_time{2'000};
    std::chrono::milliseconds tick{250};  // how late a deadline may be noticed
};

// A body up to this size that nobody wants is read and dropped to keep the connection.
inline constexpr std::uint64_t unwanted_bytes_max = 64 << 10;

}  // namespace cairn
