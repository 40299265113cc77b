// The frame of a multipart/byteranges body (RFC 9110 section 14.6), its length known before its
// first byte.
//
// A part's head goes out before the part's bytes, the tail after the last part:
//
//     head(0) bytes(0) head(1) bytes(1) ... tail()
#pragma once

#include "runtime/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cairn {

class multipart_frame {
public:
    // `parts` lie inside a blob of `blob_bytes`; the boundary occurs in none of them.
    multipart_frame(std::vector<byte_range> parts, std::uint64_t blob_bytes, std::string boundary);

    const std::vector<byte_range>& parts() const noexcept { return parts_; }
    // Of the whole body, frame and bytes.
    std::uint64_t size_bytes() const noexcept { return size_bytes_; }
    std::string content_type() const;
    std::string head(std::size_t part) const;
    std::string tail() const;

private:
    std::vector<byte_range> parts_;
    std::uint64_t blob_bytes_;
    std::string boundary_;
    std::uint64_t size_bytes_ = 0;
};

// 128 random bits in hex: what a blob's bytes do not contain.
std::string make_boundary();

// "bytes 0-99/1234", for the Content-Range of one part.
std::string content_range(byte_range part, std::uint64_t blob_bytes);

}  // namespace cairn
