#include "tests/support/run_coro.hpp"

#include <boost/asio/co_spawn.hpp>
#include <exception>

namespace cairn::test {

void run_coro(asio::io_context& context, awaitable<void> work) {
    std::exception_ptr failure;
    const auto on_end = [&failure](std::exception_ptr thrown) { failure = std::move(thrown); };
    asio::co_spawn(context, std::move(work), on_end);
    context.restart();
    context.run();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace cairn::test
