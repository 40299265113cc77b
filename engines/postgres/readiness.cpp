#include "engines/postgres/readiness.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <fcntl.h>
#include <unistd.h>

namespace cairn::postgres {

result<void> readiness::watch(int descriptor) {
    release();
    const int made = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (made < 0) return last_system_error();
    error_code ec;
    duplicate_.assign(made, ec);
    if (!ec) return {};
    ::close(made);
    return ec;
}

void readiness::release() noexcept {
    error_code ignored;  // of a close: there is nothing left to lose
    duplicate_.close(ignored);
}

awaitable<bool> readiness::readable() { return wait(duplicate_.wait_read); }

awaitable<bool> readiness::writable() { return wait(duplicate_.wait_write); }

awaitable<bool> readiness::wait(asio::posix::stream_descriptor::wait_type kind) {
    constexpr auto as_value = asio::as_tuple(asio::use_awaitable_t<executor>());
    if (!duplicate_.is_open()) co_return false;
    const auto [ec] = co_await duplicate_.async_wait(kind, as_value);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
        throw boost::system::system_error(asio::error::operation_aborted);
    }
    co_return ec != asio::error::operation_aborted;
}

}  // namespace cairn::postgres
