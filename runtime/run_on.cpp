#include "runtime/run_on.hpp"

#include "runtime/waiter.hpp"

#include <boost/asio/co_spawn.hpp>
#include <exception>

namespace cairn {

awaitable<void> run_on(executor other, awaitable<void> work) {
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
