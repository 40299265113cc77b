// Sizes and durations as people write and read them: "64MiB", "15m", "1.2 GiB".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cairn::program {

// A number with an optional unit: B, KiB, MiB, GiB, TiB (and K, M, G, T for the same), or KB, MB,
// GB, TB in powers of ten. Nothing when malformed or beyond 64 bits.
std::optional<std::uint64_t> parse_size(std::string_view text);
std::string format_size(std::uint64_t bytes);

// A number with a unit: ms, s, m, h, d.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// "A-B" or "A-", bytes counted from 0, both ends included, as offset and length.
struct parsed_range {
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> size_bytes;  // nothing: to the end
};
std::optional<parsed_range> parse_range(std::string_view text);

}  // namespace cairn::program
