#include "http/range.hpp"

#include "http/grammar.hpp"

#include <algorithm>
#include <optional>

namespace cairn {
namespace {

// A number as written, and its value cut at 2^64-1: beyond any blob's end all numbers are alike,
// but "reversed" is still judged by what was written.
struct position {
    std::string_view digits;  // without leading zeros
    std::uint64_t value = 0;

    bool operator>(const position& other) const noexcept {
        if (digits.size() != other.digits.size()) return digits.size() > other.digits.size();
        return digits > other.digits;
    }
};

std::optional<position> parse_position(std::string_view digits) {
    if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    return position{digits, parse_decimal_saturated(digits)};
}

// One range-spec. An unsatisfiable one is well formed, with nothing to send.
struct range_spec {
    bool well_formed = false;
    std::optional<byte_range> part;
};

range_spec suffix_of(std::string_view digits, std::uint64_t size_bytes) {
    const auto length = parse_position(digits);
    if (!length) return {};
    const std::uint64_t count = std::min(length->value, size_bytes);
    if (count == 0) return {true, std::nullopt};
    return {true, byte_range{size_bytes - count, count}};
}

range_spec parse_spec(std::string_view text, std::uint64_t size_bytes) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return {};
    if (dash == 0) return suffix_of(text.substr(1), size_bytes);

    const auto first = parse_position(text.substr(0, dash));
    if (!first) return {};
    std::uint64_t last = byte_range::to_end;
    if (dash + 1 < text.size()) {
        const auto written = parse_position(text.substr(dash + 1));
        if (!written || *first > *written) return {};
        last = written->value;
    }
    if (first->value >= size_bytes) return {true, std::nullopt};
    last = std::min(last, size_bytes - 1);
    return {true, byte_range{first->value, last - first->value + 1}};
}

// Sums stay below the blob's size plus range_gap_min, and a blob is shorter than 2^63.
void coalesce(std::vector<byte_range>& parts) {
    std::sort(parts.begin(), parts.end(),
              [](const byte_range& a, const byte_range& b) { return a.offset < b.offset; });
    auto last = parts.begin();
    for (auto next = last + 1; next != parts.end(); ++next) {
        const std::uint64_t end = last->offset + last->size_bytes;
        if (next->offset >= end && next->offset - end >= range_gap_min) {
            *++last = *next;
        } else {
            last->size_bytes = std::max(end, next->offset + next->size_bytes) - last->offset;
        }
    }
    parts.erase(last + 1, parts.end());
}

}  // namespace

range_selection select_ranges(std::string_view field, std::uint64_t size_bytes) {
    constexpr std::string_view unit = "bytes=";
    if (!iequals(field.substr(0, unit.size()), unit)) return {};

    std::vector<byte_range> parts;
    std::size_t count = 0;
    list_reader elements(field.substr(unit.size()));
    while (const auto element = elements.next()) {
        const range_spec spec = parse_spec(*element, size_bytes);
        if (!spec.well_formed || ++count > ranges_max) return {};
        if (spec.part) parts.push_back(*spec.part);
    }
    if (count == 0) return {};
    if (parts.empty()) return {range_selection::kind::unsatisfiable, {}};
    coalesce(parts);
    return {range_selection::kind::parts, std::move(parts)};
}

}  // namespace cairn
