// How one byte string lies in a segment, byte by byte.
//
//     offset                     a multiple of 4096
//     body          size bytes
//     padding       zeros, so that the trailer ends the record's last block
//     trailer       checksums: count x u64, XXH3-64 of each 64 KiB of the body
//                   footer:    96 bytes, below
//     end           a multiple of 4096
//
//     footer   0  magic      8   "cairnrec"
//              8  segment    u64        40  offset    u64, of this record
//             16  mark       u64        48  length    u64, of this record with padding and trailer
//             24  size       u64        56  id        32 bytes
//             32  digest     u64, XXH3-64 of the checksums
//             88  check      u64, XXH3-64 of the 88 bytes before it
//
// All little-endian. The mark is the boot, with the segment's replay key over it by exclusive or:
// nobody outside can write a record that recovery takes. A scan looks at the last 96 bytes of each
// 4 KiB block and accepts a footer only when every field fits the place where it lies.
#pragma once

#include "engines/blob_id.hpp"
#include "engines/checksums.hpp"
#include "engines/locator.hpp"
#include "runtime/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cairn::segment_record {

inline constexpr std::uint64_t block_bytes = 4096;
inline constexpr std::size_t footer_bytes = 96;

struct footer {
    std::uint64_t mark = 0;
    blob_id id;
    extent stored;  // at.container is the segment
};

// Checksums and footer of a body of that size.
std::uint64_t trailer_bytes(std::uint64_t size_bytes) noexcept;
// The whole record: body, padding and trailer, a multiple of block_bytes.
std::uint64_t length_bytes(std::uint64_t size_bytes) noexcept;
// Where the trailer begins, from the record's beginning.
std::uint64_t trailer_offset(std::uint64_t size_bytes) noexcept;

// Padding and trailer: everything after the body.
buffer encode_tail(const footer& about, const checksums& sums);

// A footer from exactly footer_bytes bytes that end at `end_offset` of `segment`; nothing unless it
// describes a record that lies exactly there.
std::optional<footer> decode_footer(byte_view bytes,
                                    std::uint64_t segment,
                                    std::uint64_t end_offset);

// The checksums from the trailer's bytes; nothing unless they are those of `stored`.
std::optional<checksums> decode_trailer(byte_view trailer, const extent& stored);

}  // namespace cairn::segment_record
