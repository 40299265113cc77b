// The name of a blob: the SHA-256 of its bytes, printed as 64 lower-case hex digits.
#pragma once

#include "runtime/bytes.hpp"
#include "runtime/hash.hpp"

#include <compare>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

struct blob_id {
    sha256_digest bytes{};

    // Exactly 64 lower-case hex digits; anything else, upper case too, is nothing.
    static std::optional<blob_id> parse(std::string_view digits) noexcept {
        blob_id id;
        if (!from_hex(digits, id.bytes)) return std::nullopt;
        return id;
    }
    static blob_id of(byte_view body) { return blob_id{sha256::of(body)}; }

    std::string hex() const { return to_hex(bytes); }
    byte_view view() const noexcept { return bytes; }

    friend bool operator==(const blob_id&, const blob_id&) = default;
    friend std::strong_ordering operator<=>(const blob_id& a, const blob_id& b) noexcept {
        return std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) <=> 0;
    }
};

// SHA-256 is uniform: any eight of its bytes are a hash.
struct blob_id_hash {
    std::size_t operator()(const blob_id& id) const noexcept {
        std::size_t value = 0;
        std::memcpy(&value, id.bytes.data() + 8, sizeof value);
        return value;
    }
};

}  // namespace cairn
