// Where a bulk engine keeps one byte string: written once, owned by one put attempt, never used
// again.
#pragma once

#include <compare>
#include <cstdint>

namespace cairn {

struct locator {
    std::uint64_t container = 0;  // a segment's number, or an upload's key
    std::uint64_t offset = 0;     // of the record in its container
    std::uint64_t length_bytes =
        0;  // space that the record takes there, trailer and padding included

    friend auto operator<=>(const locator&, const locator&) = default;
};

// A byte string in bulk with what is needed to check it.
struct extent {
    locator at;
    std::uint64_t size_bytes = 0;
    std::uint64_t checksums_digest =
        0;  // of the byte string's checksums, see engines/checksums.hpp
};

}  // namespace cairn
