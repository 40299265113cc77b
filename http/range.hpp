// The Range field of a request, as the parts of a blob that answer it (RFC 9110 section 14).
//
// Never fails: a field that does not parse is ignored, as the RFC wants it, and a request for too
// many parts gets the whole. Offsets are 64-bit and no number in the field, however long,
// overflows.
#pragma once

#include "runtime/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cairn {

// More ranges than this in one field mean the whole blob (CVE-2011-3192 is why there is a limit).
inline constexpr std::size_t ranges_max = 64;

// Ranges with a gap below this are sent as one: a part's own head would be longer than the gap.
inline constexpr std::uint64_t range_gap_min = 128;

struct range_selection {
    enum class kind {
        whole,          // 200: no range applies
        parts,          // 206
        unsatisfiable,  // 416: nothing of what was asked for lies in the blob
    };

    kind what = kind::whole;
    // For kind::parts: not empty, in ascending order, inside the blob, range_gap_min apart.
    std::vector<byte_range> parts;
};

// `field` is the value of Range, `size_bytes` the blob's length.
range_selection select_ranges(std::string_view field, std::uint64_t size_bytes);

}  // namespace cairn
