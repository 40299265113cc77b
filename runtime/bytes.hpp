// Bytes in memory: a view, an owning buffer, and hex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cairn {

using byte_view = std::span<const std::byte>;
using mutable_byte_view = std::span<std::byte>;

inline byte_view as_bytes(std::string_view text) noexcept {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string_view as_text(byte_view bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The bytes [offset, offset + size) of something; size_bytes may be `to_end`.
struct byte_range {
    static constexpr std::uint64_t to_end = UINT64_MAX;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = to_end;
};

// Shares ownership of a block of bytes and shows a part of it.
//
// Copies and slices share the block, so whoever holds one (the kernel's operation slot, a cache, a
// response) keeps the bytes alive. Who writes through mutable_data() must be the only one who looks
// at those bytes: that holds from allocate() until the first copy is handed on.
class buffer {
public:
    buffer() noexcept = default;

    // Uninitialised bytes. Throws std::bad_alloc.
    static buffer allocate(std::size_t size_bytes);
    static buffer copy_of(byte_view bytes);

    const std::byte* data() const noexcept { return begin_; }
    std::byte* mutable_data() noexcept { return begin_; }
    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    byte_view view() const noexcept { return {begin_, size_}; }
    mutable_byte_view mutable_view() noexcept { return {begin_, size_}; }
    std::string_view text() const noexcept { return as_text(view()); }

    // The part [offset, offset + size_bytes), which must lie inside; shares the block.
    buffer slice(std::size_t offset, std::size_t size_bytes) const;
    // Shows only the first size_bytes from now on.
    void truncate(std::size_t size_bytes);

private:
    std::shared_ptr<std::byte[]> block_;
    std::byte* begin_ = nullptr;
    std::size_t size_ = 0;
};

// Two lower-case digits a byte.
std::string to_hex(byte_view bytes);
// Fills all of `out` from exactly 2 * out.size() lower-case digits; false for anything else.
bool from_hex(std::string_view digits, mutable_byte_view out) noexcept;
// RFC 4648 base64 with padding, for digest fields.
std::string to_base64(byte_view bytes);

}  // namespace cairn
