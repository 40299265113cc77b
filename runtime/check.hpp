// CAIRN_CHECK(condition): a programmer's error ends the process, in release builds too.
//
// Never for input, disk bytes or peers: those are answered with an error code.
#pragma once

namespace cairn {

[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace cairn

#define CAIRN_CHECK(condition) \
    (static_cast<bool>(condition) ? void(0) : ::cairn::check_failed(#condition, __FILE__, __LINE__))
