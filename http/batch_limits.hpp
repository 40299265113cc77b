// How much one batch request may ask for, and how much of it is under way at a time.
#pragma once

#include "engines/source.hpp"

#include <cstddef>

namespace cairn {

inline constexpr std::size_t batch_entries_max = 10'000;
// Look-ups, reads and puts that wait together: what one group commit is made of.
inline constexpr std::size_t batch_at_once = 64;
// A blob up to this size is held whole, as long as memory for batches is left (http_settings); a
// larger one goes through window by window, by itself.
inline constexpr std::size_t small_bytes_max = window_bytes;

}  // namespace cairn
