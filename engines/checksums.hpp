// Checks of a stored byte string: XXH3-64 of each 64 KiB of it, so that a range can be checked
// alone.
//
// The list lies beside the bytes (a record's trailer, a chunk's row) as little-endian u64; its own
// XXH3-64, the digest, lies in the blob's row, so that bytes and checks cannot rot alike unnoticed.
// 8 bytes for 64 KiB: a blob of 1 GiB has 128 KiB of them, in memory while it is put or read.
#pragma once

#include "runtime/bytes.hpp"
#include "runtime/hash.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

inline constexpr std::size_t checksum_span_bytes = 64 << 10;

class checksums {
public:
    // How many a byte string of that size has: none for the empty one.
    static std::uint64_t count_for(std::uint64_t size_bytes) noexcept {
        return size_bytes / checksum_span_bytes + (size_bytes % checksum_span_bytes != 0);
    }

    static checksums of(byte_view bytes);
    static checksums decode(byte_view encoded);  // encoded.size() is a multiple of 8

    void append(std::uint64_t sum) { sums_.push_back(sum); }

    std::size_t count() const noexcept { return sums_.size(); }
    std::uint64_t digest() const noexcept;
    byte_view encoded() const noexcept { return std::as_bytes(std::span(sums_)); }
    // Whether `span` is what span number `index` was when it was put.
    bool match(std::size_t index, byte_view span) const noexcept {
        return xxh3(span) == sums_[index];
    }

private:
    std::vector<std::uint64_t> sums_;
};

// Checksums of a byte string that arrives in pieces of any size.
class checksum_stream {
public:
    void update(byte_view bytes);
    checksums finish();

private:
    xxh3_stream stream_;
    std::size_t filled_ = 0;  // of the current span
    checksums done_;
};

}  // namespace cairn
