// The one translation unit that compiles Boost.Asio (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
#include <boost/version.hpp>

// Older releases lack what the runtime relies on: awaitable operators that cancel, channels.
static_assert(BOOST_VERSION >= 108100, "cairn needs Boost 1.81 or newer");

#if defined(BOOST_ASIO_HAS_IO_URING)
#error "cairn drives its own rings (io/); Asio's io_uring backend would replace its epoll"
#endif
