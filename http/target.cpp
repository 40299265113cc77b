#include "http/target.hpp"

#include "http/grammar.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace cairn {
namespace {

bool is_space_or_control(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f;
}

// Undoes percent-encoding; false when it is malformed or hides a byte that must not be hidden.
bool decode(std::string_view text, std::string_view forbidden, std::string& out) {
    if (text.find('%') == std::string_view::npos) {
        out += text;
        return true;
    }
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        std::array<std::byte, 1> value{};
        const std::array<char, 2> digits{to_lower(i + 1 < text.size() ? text[i + 1] : ' '),
                                         to_lower(i + 2 < text.size() ? text[i + 2] : ' ')};
        if (!from_hex(std::string_view(digits.data(), 2), value)) return false;
        const char c = static_cast<char>(value[0]);
        if (c == '\0' || forbidden.find(c) != std::string_view::npos) return false;
        out += c;
        i += 2;
    }
    return true;
}

}  // namespace

std::optional<request_target> parse_target(std::string_view text) {
    request_target target;
    if (std::any_of(text.begin(), text.end(), is_space_or_control)) return std::nullopt;
    if (text == "*") {
        target.path = text;
        return target;
    }
    constexpr std::string_view scheme = "http://";
    if (iequals(text.substr(0, scheme.size()), scheme)) {
        text.remove_prefix(scheme.size());
        const std::size_t end = std::min(text.find_first_of("/?"), text.size());
        target.authority = text.substr(0, end);
        text.remove_prefix(end);
        if (text.empty() || text.front() == '?') target.path = "/";
    } else if (!text.starts_with('/')) {
        return std::nullopt;
    }
    if (text.find('#') != std::string_view::npos) return std::nullopt;
    const std::size_t mark = std::min(text.find('?'), text.size());
    if (mark < text.size()) target.query = text.substr(mark + 1);
    if (!decode(text.substr(0, mark), "/", target.path)) return std::nullopt;
    return target;
}

std::optional<std::string> query_parameter(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        const std::size_t end = std::min(query.find('&'), query.size());
        const std::string_view pair = query.substr(0, end);
        query.remove_prefix(std::min(end + 1, query.size()));
        const std::size_t equals = std::min(pair.find('='), pair.size());
        if (pair.substr(0, equals) != name) continue;
        std::string value;
        if (!decode(pair.substr(std::min(equals + 1, pair.size())), "", value)) return std::nullopt;
        return value;
    }
    return std::nullopt;
}

std::optional<blob_id> parse_blob_name(std::string_view text) {
    constexpr std::string_view scheme = "sha256:";
    if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
    return blob_id::parse(text);
}

}  // namespace cairn
