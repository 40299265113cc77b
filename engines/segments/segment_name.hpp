// File names of segments: `<boot>-<n>`, in decimal.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

inline std::string segment_name(std::uint64_t segment) {
    return std::to_string(segment >> 32) + "-" + std::to_string(segment & UINT32_MAX);
}

// Nothing for a name that segment_name() does not give.
inline std::optional<std::uint64_t> segment_of(std::string_view name) {
    std::uint32_t boot = 0;
    std::uint32_t number = 0;
    const char* const end = name.data() + name.size();
    const auto dash = std::from_chars(name.data(), end, boot);
    if (dash.ec != std::errc() || dash.ptr == end || *dash.ptr != '-') return std::nullopt;
    const auto rest = std::from_chars(dash.ptr + 1, end, number);
    if (rest.ec != std::errc() || rest.ptr != end) return std::nullopt;
    const std::uint64_t segment = std::uint64_t{boot} << 32 | number;
    if (segment_name(segment) != name) return std::nullopt;
    return segment;
}

}  // namespace cairn
