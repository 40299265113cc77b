#include "http/cairn/units.hpp"

#include "http/grammar.hpp"

#include <array>
#include <fmt/format.h>
#include <utility>

namespace cairn::program {
namespace {

struct unit {
    std::string_view name;
    std::uint64_t factor;
};

// A whole number followed by one of `units`; nothing when malformed or beyond 64 bits.
template <std::size_t Count>
std::optional<std::uint64_t> parse(std::string_view text, const std::array<unit, Count>& units) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_decimal(text.substr(0, end));
    const std::string_view name = trim(text.substr(end));
    if (!number) return std::nullopt;
    for (const unit& each : units) {
        if (!iequals(name, each.name)) continue;
        if (*number > UINT64_MAX / each.factor) return std::nullopt;
        return *number * each.factor;
    }
    return std::nullopt;
}

constexpr std::array<unit, 14> size_units{{{"", 1},
                                           {"B", 1},
                                           {"K", 1ULL << 10},
                                           {"KiB", 1ULL << 10},
                                           {"M", 1ULL << 20},
                                           {"MiB", 1ULL << 20},
                                           {"G", 1ULL << 30},
                                           {"GiB", 1ULL << 30},
                                           {"T", 1ULL << 40},
                                           {"TiB", 1ULL << 40},
                                           {"KB", 1'000},
                                           {"MB", 1'000'000},
                                           {"GB", 1'000'000'000},
                                           {"TB", 1'000'000'000'000}}};

constexpr std::array<unit, 5> duration_units{
    {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) { return parse(text, size_units); }

std::string format_size(std::uint64_t bytes) {
    constexpr std::array<std::string_view, 5> names{"KiB", "MiB", "GiB", "TiB", "PiB"};
    if (bytes < 1024) return fmt::format("{} B", bytes);
    double value = static_cast<double>(bytes) / 1024;
    std::size_t name = 0;
    while (value >= 1024 && name + 1 < names.size()) {
        value /= 1024;
        ++name;
    }
    return fmt::format("{:.1f} {}", value, names[name]);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    const auto count = parse(text, duration_units);
    // A year is more than any limit here means, and keeps all arithmetic far from its ends.
    if (!count || *count > 366ULL * 86'400'000) return std::nullopt;
    return std::chrono::milliseconds(*count);
}

std::optional<parsed_range> parse_range(std::string_view text) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto first = parse_decimal(text.substr(0, dash));
    if (!first) return std::nullopt;
    parsed_range parsed;
    parsed.offset = *first;
    if (dash + 1 == text.size()) return parsed;
    const auto last = parse_decimal(text.substr(dash + 1));
    if (!last || *last < *first) return std::nullopt;
    parsed.size_bytes = *last - *first + 1;
    return parsed;
}

}  // namespace cairn::program
