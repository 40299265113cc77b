// The one way to another thread: run a coroutine there and come home with its value.
//
// Not co_spawn(other, work, use_awaitable): that carries the caller's cancellation into a coroutine
// of another thread, and cancellation signals belong to one thread (asio issue #1332).
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/waiter.hpp"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <optional>
#include <utility>

namespace cairn {

// Runs `work` to its end on `other` and resumes the caller on its own executor, with the value or
// the exception. Not cancellable: what runs there completes.
template <class T>
awaitable<T> run_on(executor other, awaitable<T> work) {
    std::exception_ptr failure;
    std::optional<T> value;
    waiter self;
    const auto on_end = [&](std::exception_ptr thrown, T made) {
        failure = std::move(thrown);
        if (!failure) value.emplace(std::move(made));
        self.resume();
    };
    const auto link = [&] { asio::co_spawn(other, std::move(work), on_end); };
    const auto withdraw = [] { return false; };
    co_await park(self, link, withdraw);
    if (failure) std::rethrow_exception(failure);
    co_return std::move(*value);
}

template <>
inline awaitable<void> run_on(executor other, awaitable<void> work) {
    std::exception_ptr failure;
    waiter self;
    const auto on_end = [&](std::exception_ptr thrown) {
        failure = std::move(thrown);
        self.resume();
    };
    const auto link = [&] { asio::co_spawn(other, std::move(work), on_end); };
    const auto withdraw = [] { return false; };
    co_await park(self, link, withdraw);
    if (failure) std::rethrow_exception(failure);
}

}  // namespace cairn
