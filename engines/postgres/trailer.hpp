// What the last chunk of a byte string says about the whole: that it is whole, and what it is.
//
// 48 bytes: the blob's id (32), its size and the digest of its checksums, each a big-endian u64.
#pragma once

#include "engines/blob_id.hpp"
#include "runtime/bytes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cairn::postgres {

struct trailer {
    static constexpr std::size_t encoded_bytes = 48;

    blob_id id;
    std::uint64_t size_bytes = 0;
    std::uint64_t checksums_digest = 0;

    std::array<std::byte, encoded_bytes> encode() const noexcept;
    // Nothing when it has another length.
    static std::optional<trailer> decode(byte_view bytes) noexcept;

    friend bool operator==(const trailer&, const trailer&) = default;
};

}  // namespace cairn::postgres
