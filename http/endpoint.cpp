#include "http/endpoint.hpp"

#include "http/grammar.hpp"

namespace cairn {

std::string host_port::text() const {
    const bool v6 = host.find(':') != std::string::npos;
    return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::optional<host_port> parse_host_port(std::string_view text,
                                         std::optional<std::uint16_t> default_port) {
    host_port parsed;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        parsed.host = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
    } else {
        const std::size_t end = std::min(text.find(':'), text.size());
        parsed.host = text.substr(0, end);
        text.remove_prefix(end);
    }
    if (parsed.host.empty()) return std::nullopt;
    if (text.empty()) {
        if (!default_port) return std::nullopt;
        parsed.port = *default_port;
        return parsed;
    }
    const auto port = text.front() == ':' ? parse_decimal(text.substr(1)) : std::nullopt;
    if (!port || *port > UINT16_MAX) return std::nullopt;
    parsed.port = static_cast<std::uint16_t>(*port);
    return parsed;
}

std::optional<host_port> parse_server_url(std::string_view text) {
    constexpr std::string_view scheme = "http://";
    std::uint16_t port = cairn_port;
    if (iequals(text.substr(0, scheme.size()), scheme)) {
        text.remove_prefix(scheme.size());
        port = 80;
    }
    if (text.ends_with('/')) text.remove_suffix(1);
    if (text.find_first_of("/?#@") != std::string_view::npos) return std::nullopt;
    return parse_host_port(text, port);
}

}  // namespace cairn
