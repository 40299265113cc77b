#include "engines/postgres/readiness.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace cairn::postgres {

void readiness::watch(int descriptor) {
    release();
    descriptor_.assign(descriptor);
}

void readiness::release() noexcept {
    if (descriptor_.is_open()) descriptor_.release();
}

awaitable<bool> readiness::readable() { return wait(descriptor_.wait_read); }

awaitable<bool> readiness::writable() { return wait(descriptor_.wait_write); }

awaitable<bool> readiness::wait(asio::posix::stream_descriptor::wait_type kind) {
    constexpr auto as_value = asio::as_tuple(asio::use_awaitable_t<executor>());
    if (!descriptor_.is_open()) co_return false;
    const auto [ec] = co_await descriptor_.async_wait(kind, as_value);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
        throw boost::system::system_error(asio::error::operation_aborted);
    }
    co_return ec != asio::error::operation_aborted;
}

}  // namespace cairn::postgres
