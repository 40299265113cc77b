// result<T>: a value or an error_code, 32 bytes for small T, no allocation.
//
// Everything that depends on input, disks or peers returns one. Exceptions are for three things:
// cancellation (boost::system::system_error with asio::error::operation_aborted, thrown by whatever
// waits), start-up, and memory.
#pragma once

#include "runtime/error.hpp"

#include <boost/system/result.hpp>

namespace cairn {

template <class T>
using result = boost::system::result<T, error_code>;

// For result<bool>, which cannot be made from an error_code by itself: an error_code is a bool too.
inline result<bool> failed_bool(error_code ec) {
    return result<bool>(boost::system::in_place_error, ec);
}

}  // namespace cairn
