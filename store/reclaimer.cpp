#include "store/reclaimer.hpp"

#include "runtime/deadline.hpp"
#include "runtime/log.hpp"
#include "runtime/run_on.hpp"

#include <boost/system/errc.hpp>
#include <new>

namespace cairn {
namespace {

// Sealing frees segments too, without a word to us.
constexpr auto look_again = std::chrono::seconds(1);
constexpr std::size_t at_once = 64;

}  // namespace

reclaimer::reclaimer(executor home, catalog& rows, bulk& bytes, fail_stop& stop)
    : home_(home), rows_(rows), bytes_(bytes), stop_(stop), scope_(home) {}

void reclaimer::wake() { (void)wakes_.try_push(std::monostate()); }

awaitable<void> reclaimer::start() { co_await run_on(home_, start_here()); }

awaitable<void> reclaimer::start_here() {
    scope_.spawn(run());
    co_return;
}

awaitable<void> reclaimer::close() {
    wakes_.close();
    co_await run_on(home_, scope_.join());
}

awaitable<void> reclaimer::run() {
    while (!wakes_.closed() && !stop_.tripped()) {
        auto done = co_await reclaim_guarded();
        if (!done && !stop_.tripped()) {
            log_warn("reclaim", "will be tried again: {}", done.error().message());
        }
        if (done && *done == at_once) continue;
        const auto at = std::chrono::steady_clock::now() + look_again;
        (void)co_await before<void>(at, woken());
    }
}

// Without memory it is tried again as after any other error.
awaitable<result<std::size_t>> reclaimer::reclaim_guarded() {
    try {
        co_return co_await reclaim_some();
    } catch (const std::bad_alloc&) {
        co_return make_error_code(boost::system::errc::not_enough_memory);
    }
}

awaitable<result<void>> reclaimer::woken() {
    (void)co_await wakes_.pop();
    co_return result<void>();
}

awaitable<result<std::size_t>> reclaimer::reclaim_some() {
    auto list = co_await rows_.reclaimable(at_once);
    if (!list) co_return list.error();
    for (const locator& each : *list) {
        if (wakes_.closed()) break;
        auto erased = co_await bytes_.erase(each);
        if (!erased) co_return erased.error();
        const change gone = forget_locator{each};
        auto forgotten = co_await rows_.commit(gone);
        if (!forgotten) co_return forgotten.error();
    }
    co_return list->size();
}

}  // namespace cairn
