// The coroutine type of every call in cairn that may wait.
//
// An awaitable is lazy: it runs when it is awaited, on the executor of whoever awaits it, and it is
// awaited in the expression that makes it. How cancellation ends one is written at each call.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace cairn {

namespace asio = boost::asio;

template <class T>
using awaitable = asio::awaitable<T, asio::any_io_executor>;

using executor = asio::any_io_executor;

}  // namespace cairn
