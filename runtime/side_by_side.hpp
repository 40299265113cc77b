// Many small waits at once, so that they share group commits and round trips.
#pragma once

#include "runtime/awaitable.hpp"

#include <cstddef>
#include <functional>

namespace cairn {

// Awaits work(0) to work(count - 1) on the caller's one-threaded executor, begun in that order and
// up to `at_once` of them under way at a time. Returns when all have ended; the first that throws
// stops the others, and its exception is thrown on. Cancelled: stops them all, throws once they
// have ended. `work` outlives the call.
awaitable<void> side_by_side(std::size_t count,
                             std::size_t at_once,
                             const std::function<awaitable<void>(std::size_t)>& work);

}  // namespace cairn
