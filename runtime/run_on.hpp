// The one way to another thread: run a coroutine there and come home with its value.
//
// Not co_spawn(other, work, use_awaitable): that carries the caller's cancellation into a coroutine
// of another thread, and cancellation signals belong to one thread (asio issue #1332).
#pragma once

#include "runtime/awaitable.hpp"

#include <optional>
#include <utility>

namespace cairn {

// Runs `work` to its end on `other` and resumes the caller on its own executor, with the value or
// the exception. Not cancellable: what runs there completes.
awaitable<void> run_on(executor other, awaitable<void> work);

template <class T>
awaitable<T> run_on(executor other, awaitable<T> work) {
    std::optional<T> value;
    co_await run_on(std::move(other), keep(std::move(work), value));
    co_return std::move(*value);
}

}  // namespace cairn
