#include "runtime/bytes.hpp"

#include "runtime/check.hpp"

#include <cstring>

namespace cairn {

buffer buffer::allocate(std::size_t size_bytes) {
    buffer made;
    if (size_bytes == 0) return made;
    made.block_ = std::make_shared_for_overwrite<std::byte[]>(size_bytes);
    made.begin_ = made.block_.get();
    made.size_ = size_bytes;
    return made;
}

buffer buffer::copy_of(byte_view bytes) {
    buffer made = allocate(bytes.size());
    if (!bytes.empty()) std::memcpy(made.begin_, bytes.data(), bytes.size());
    return made;
}

buffer buffer::slice(std::size_t offset, std::size_t size_bytes) const {
    CAIRN_CHECK(offset <= size_);
    CAIRN_CHECK(size_bytes <= size_ - offset);
    buffer part = *this;
    part.begin_ += offset;
    part.size_ = size_bytes;
    return part;
}

void buffer::truncate(std::size_t size_bytes) {
    CAIRN_CHECK(size_bytes <= size_);
    size_ = size_bytes;
}

std::string to_hex(byte_view bytes) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text(bytes.size() * 2, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto value = std::to_integer<unsigned>(bytes[i]);
        text[2 * i] = digits[value >> 4];
        text[2 * i + 1] = digits[value & 15];
    }
    return text;
}

namespace {

int digit_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

}  // namespace

bool from_hex(std::string_view digits, mutable_byte_view out) noexcept {
    if (digits.size() != out.size() * 2) return false;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const int high = digit_value(digits[2 * i]);
        const int low = digit_value(digits[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = static_cast<std::byte>(high * 16 + low);
    }
    return true;
}

std::string to_base64(byte_view bytes) {
    static constexpr char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t left = bytes.size() - i;
        const auto at = [&](std::size_t k) {
            return k < left ? std::to_integer<unsigned>(bytes[i + k]) : 0U;
        };
        const unsigned group = at(0) << 16 | at(1) << 8 | at(2);
        text += alphabet[group >> 18];
        text += alphabet[group >> 12 & 63];
        text += left > 1 ? alphabet[group >> 6 & 63] : '=';
        text += left > 2 ? alphabet[group & 63] : '=';
    }
    return text;
}

}  // namespace cairn
