#include "http/receive_buffer.hpp"

#include <cstring>

namespace cairn {

mutable_byte_view receive_buffer::room() noexcept {
    if (begin_ == end_ || end_ == capacity) move_unread_to(floor_);
    return {bytes_.get() + end_, capacity - end_};
}

void receive_buffer::make_way() noexcept {
    if (begin_ == end_ || begin_ > capacity / 4) move_unread_to(floor_);
}

void receive_buffer::move_unread_to(std::size_t position) noexcept {
    const std::size_t count = end_ - begin_;
    if (count > 0 && begin_ != position) {
        std::memmove(bytes_.get() + position, bytes_.get() + begin_, count);
    }
    begin_ = position;
    end_ = position + count;
}

}  // namespace cairn
