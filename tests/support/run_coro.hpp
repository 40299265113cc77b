// Runs one coroutine to its end on an io_context of its own, on the calling thread.
//
// For tests whose subject needs nothing but an executor. The context is run until nothing is left
// to do, so work that the coroutine started and did not wait for is finished (or seen to hang)
// inside the test that started it.
#pragma once

#include "runtime/awaitable.hpp"

#include <boost/asio/io_context.hpp>
#include <optional>
#include <utility>

namespace cairn::test {

void run_coro(asio::io_context& context, awaitable<void> work);

// Returns what `work` returns; rethrows what it throws.
template <class T>
T run_coro(asio::io_context& context, awaitable<T> work) {
    std::optional<T> value;
    run_coro(context, keep(std::move(work), value));
    return std::move(*value);
}

template <class T>
T run_coro(awaitable<T> work) {
    asio::io_context context;
    return run_coro(context, std::move(work));
}

}  // namespace cairn::test
