// The head of a server's reply, as the client reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

// Owns what it holds: the reply's body is read over the bytes of its head.
struct reply_head {
    int status = 0;
    bool keeps_alive = false;
    bool chunked = false;
    std::optional<std::uint64_t> content_length;
    std::string content_range;
    std::string content_type;

    bool is_interim() const noexcept { return status < 200; }
    // Whether a reply to `method` with this head has a body.
    bool has_body(std::string_view method) const noexcept;
};

// The length of the head at the front of `received`, its empty line included; 0 when it is not
// complete.
std::size_t find_reply_end(std::string_view received) noexcept;

// Nothing when it does not parse or frames its body in two ways.
std::optional<reply_head> parse_reply(std::string_view head);

}  // namespace cairn
