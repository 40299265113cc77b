// Where a server is: HOST:PORT as people write it, for listening and for connecting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

struct host_port {
    std::string host;  // a name or an address, without the brackets of IPv6
    std::uint16_t port = 0;

    // "127.0.0.1:7480", "[::1]:7480"
    std::string text() const;
};

// "HOST:PORT", "[ADDRESS]:PORT", and without a port when `default_port` is given; nothing when it
// is none of these.
std::optional<host_port> parse_host_port(std::string_view text,
                                         std::optional<std::uint16_t> default_port = std::nullopt);

// "http://HOST[:PORT][/]", and HOST[:PORT] alone.
std::optional<host_port> parse_server_url(std::string_view text);

inline constexpr std::uint16_t cairn_port = 7480;

}  // namespace cairn
