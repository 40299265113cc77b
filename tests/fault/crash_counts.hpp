// How often the crash tests try: a fifth of the full counts, all of them with CAIRN_LONG=1, times
// CAIRN_FAULT_SCALE in both cases.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace cairn::test {

inline bool is_set(const char* variable, std::string_view to) {
    const char* value = std::getenv(variable);
    return value && std::string_view(value) == to;
}

inline double crash_scale() {
    const char* text = std::getenv("CAIRN_FAULT_SCALE");
    return text ? std::stod(text) : 1.0;
}

inline std::size_t crash_count(std::size_t full) {
    const double share = is_set("CAIRN_LONG", "1") ? 1.0 : 0.2;
    const double count = static_cast<double>(full) * share * crash_scale();
    return std::max<std::size_t>(1, static_cast<std::size_t>(count));
}

// A sweep fails every n-th of the calls that can fail: this is n. `usual`, but 1 with CAIRN_LONG=1,
// and so many times more with a CAIRN_FAULT_SCALE below one.
inline std::uint64_t crash_stride(std::uint64_t usual) {
    const double full = is_set("CAIRN_LONG", "1") ? 1.0 : static_cast<double>(usual);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(full / crash_scale()));
}

// The seed of this run: CAIRN_SEED, so that a failure can be run again, or a fixed one. Threads and
// moments of death differ from run to run all the same.
inline std::uint64_t crash_seed() {
    const char* text = std::getenv("CAIRN_SEED");
    return text ? std::stoull(text) : 1;
}

}  // namespace cairn::test
