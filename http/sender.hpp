// Sends answers: head and small body in one call, file ranges by sendfile, everything else window
// by window, in chunks where the length is not known.
//
// One for each connection, on its thread. An error means that the connection can only be closed:
// the head may be out and the body short of its Content-Length, which is how the client learns of
// stored bytes that failed their check on the way.
#pragma once

#include "http/response.hpp"
#include "http/settings.hpp"
#include "http/stream.hpp"

#include <cstdint>
#include <string>

namespace cairn {

class sender {
public:
    sender(stream& to, const http_settings& settings) : to_(to), settings_(settings) {}

    // Whether prepare() has something to do.
    static bool needs_prepare(const response& answer) noexcept;
    // Fetches the body's first window while the answer can still become another one.
    awaitable<result<void>> prepare(response& answer);

    // Sends it all; `head_only` for HEAD. Lets go of the body before it returns.
    awaitable<result<void>> send(response& answer, head_frame frame, bool head_only);

    std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }

private:
    awaitable<result<void>> send_to_end(source& body, bool chunked);
    awaitable<result<void>> send_windows(source& body, std::uint64_t size_bytes);
    awaitable<result<void>> send_file(file_range range);
    awaitable<result<void>> send_cold(file_range range, std::size_t size_bytes);

    stream& to_;
    const http_settings& settings_;
    std::string head_;
    buffer first_;  // fetched by prepare()
    std::uint64_t sent_bytes_ = 0;
};

}  // namespace cairn
