// The coroutine type of every call in cairn that may wait.
//
// An awaitable is lazy: it runs when it is awaited, on the executor of whoever awaits it, and it is
// awaited in the expression that makes it. How cancellation ends one is written at each call.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <optional>
#include <utility>

namespace cairn {

namespace asio = boost::asio;

template <class T>
using awaitable = asio::awaitable<T, asio::any_io_executor>;

using executor = asio::any_io_executor;

// `work`, but its value goes to `to`: what starts coroutines is then compiled once, and not for
// every type of value.
template <class T>
awaitable<void> keep(awaitable<T> work, std::optional<T>& to) {
    T made = co_await std::move(work);
    to.emplace(std::move(made));
}

}  // namespace cairn
