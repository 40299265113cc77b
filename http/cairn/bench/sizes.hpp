// Units of sizes, for rows and what they say.
#pragma once

#include <cstddef>

namespace cairn::bench {

inline constexpr std::size_t KiB = std::size_t{1} << 10;
inline constexpr std::size_t MiB = std::size_t{1} << 20;
inline constexpr std::size_t GiB = std::size_t{1} << 30;

}  // namespace cairn::bench
