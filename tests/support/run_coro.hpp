// Runs one coroutine to its end on an io_context of its own, on the calling thread.
//
// For tests whose subject needs nothing but an executor. The context is run until nothing is left
// to do, so work that the coroutine started and did not wait for is finished (or seen to hang)
// inside the test that started it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <utility>

namespace cairn::test {

// Returns what `work` returns; rethrows what it throws.
template <class T>
T run_coro(boost::asio::io_context& context, boost::asio::awaitable<T> work) {
    std::exception_ptr failure;
    std::optional<T> value;
    boost::asio::co_spawn(context, std::move(work), [&](std::exception_ptr thrown, T answer) {
        failure = std::move(thrown);
        value.emplace(std::move(answer));
    });
    context.restart();
    context.run();
    if (failure) std::rethrow_exception(failure);
    return std::move(*value);
}

inline void run_coro(boost::asio::io_context& context, boost::asio::awaitable<void> work) {
    std::exception_ptr failure;
    boost::asio::co_spawn(context, std::move(work),
                          [&](std::exception_ptr thrown) { failure = std::move(thrown); });
    context.restart();
    context.run();
    if (failure) std::rethrow_exception(failure);
}

template <class T>
T run_coro(boost::asio::awaitable<T> work) {
    boost::asio::io_context context;
    return run_coro(context, std::move(work));
}

}  // namespace cairn::test
