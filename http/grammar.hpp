// The few pieces of HTTP's grammar that its field parsers share (RFC 9110 section 5.6).
//
// Everything here works on views of the field's bytes and allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cairn {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

constexpr char to_lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Compares without regard to the case of ASCII letters.
constexpr bool iequals(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
               return to_lower(x) == to_lower(y);
           });
}

// Without optional white space (spaces and tabs) at both ends.
constexpr std::string_view trim(std::string_view text) noexcept {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Decimal digits as a number; 2^64-1 for everything that is larger. The caller checked the digits.
constexpr std::uint64_t parse_decimal_saturated(std::string_view digits) noexcept {
    std::uint64_t value = 0;
    for (const char c : digits) {
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (value > (UINT64_MAX - digit) / 10) return UINT64_MAX;
        value = value * 10 + digit;
    }
    return value;
}

// 1 to 19 decimal digits and nothing else: always fits, so no length can overflow.
constexpr std::optional<std::uint64_t> parse_decimal(std::string_view digits) noexcept {
    if (digits.empty() || digits.size() > 19) return std::nullopt;
    if (!std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
    return parse_decimal_saturated(digits);
}

// The elements of a comma-separated list, trimmed; empty ones are passed over. Quoted strings are
// not known here: for lists whose elements hold no commas.
class list_reader {
public:
    explicit constexpr list_reader(std::string_view text) noexcept : rest_(text) {}

    constexpr std::optional<std::string_view> next() noexcept {
        while (!rest_.empty()) {
            const std::size_t comma = std::min(rest_.find(','), rest_.size());
            const std::string_view element = trim(rest_.substr(0, comma));
            rest_.remove_prefix(std::min(comma + 1, rest_.size()));
            if (!element.empty()) return element;
        }
        return std::nullopt;
    }

private:
    std::string_view rest_;
};

// Whether a list holds a token, whatever its case.
constexpr bool list_has(std::string_view list, std::string_view token) noexcept {
    list_reader elements(list);
    while (const auto element = elements.next()) {
        if (iequals(*element, token)) return true;
    }
    return false;
}

}  // namespace cairn
