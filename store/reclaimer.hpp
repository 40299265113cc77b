// Gives back the bytes of locators that the catalog put into `reclaim`, in the background.
//
// The order is SAFETY.md R4: the removal is durable before its locator can be read here, the bytes
// go (durably), and only then the `reclaim` row. A crash between any two repeats the rest.
#pragma once

#include "engines/bulk.hpp"
#include "engines/catalog.hpp"
#include "runtime/channel.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/task_scope.hpp"

#include <variant>

namespace cairn {

class reclaimer {
public:
    // Everything outlives it; it runs on `home`.
    reclaimer(executor home, catalog& rows, bulk& bytes, fail_stop& stop);

    // Any thread: something went into `reclaim`. It also looks by itself from time to time.
    void wake();

    // Begins; any executor, once.
    awaitable<void> start();
    // Finishes the locator in hand and ends.
    awaitable<void> close();

private:
    awaitable<void> run();
    awaitable<void> start_here();
    awaitable<result<void>> woken();
    awaitable<result<std::size_t>> reclaim_guarded();
    awaitable<result<std::size_t>> reclaim_some();

    const executor home_;
    catalog& rows_;
    bulk& bytes_;
    fail_stop& stop_;
    channel<std::monostate> wakes_{1};
    task_scope scope_;
};

}  // namespace cairn
