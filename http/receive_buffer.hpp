// The bytes that a connection has received and not used yet: 64 KiB, allocated once.
//
// The head of the request under way stays where it is while its body passes behind it, so views of
// the head are good until the request ends: pin() keeps what was consumed, unpin() lets go.
#pragma once

#include "runtime/bytes.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

namespace cairn {

class receive_buffer {
public:
    // Beast reads 512 bytes at a time by default, which costs PUT a factor of 2.5.
    static constexpr std::size_t capacity = 64 << 10;

    receive_buffer() : bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity)) {}

    std::string_view unread() const noexcept {
        return as_text(byte_view(bytes_.get() + begin_, end_ - begin_));
    }
    void consume(std::size_t count) noexcept { begin_ += count; }

    // Where the next bytes go: never empty unless a whole capacity is unread. Moves unread bytes.
    mutable_byte_view room() noexcept;
    void filled(std::size_t count) noexcept { end_ += count; }

    // What is consumed stays in place until unpin(). Called with a head's length of bytes consumed;
    // leaves at least half of the capacity behind it.
    void pin() noexcept { floor_ = begin_; }
    void unpin() noexcept { floor_ = 0; }
    // Moves unread bytes to the front when a head would otherwise begin in the second half.
    void make_way() noexcept;

private:
    void move_unread_to(std::size_t position) noexcept;

    std::unique_ptr<std::byte[]> bytes_;
    std::size_t floor_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace cairn
