#include "http/blob_frames.hpp"

#include "runtime/check.hpp"

#include <algorithm>

namespace cairn {
namespace {

constexpr std::size_t id_bytes = sizeof(sha256_digest);

blob_frame parse_head(const std::array<std::byte, blob_frame::head_bytes>& head) noexcept {
    blob_frame frame;
    std::copy_n(head.begin(), id_bytes, frame.id.bytes.begin());
    frame.length = 0;
    for (std::size_t i = id_bytes; i < head.size(); ++i) {
        frame.length = frame.length << 8 | std::to_integer<std::uint64_t>(head[i]);
    }
    return frame;
}

}  // namespace

std::array<std::byte, blob_frame::head_bytes> blob_frame::head() const noexcept {
    std::array<std::byte, head_bytes> head;
    std::copy(id.bytes.begin(), id.bytes.end(), head.begin());
    std::uint64_t rest = length;
    for (std::size_t i = head.size(); i-- > id_bytes; rest >>= 8) {
        head[i] = static_cast<std::byte>(rest & 0xff);
    }
    return head;
}

std::optional<blob_frame> blob_frame_decoder::eat(byte_view& input) {
    CAIRN_CHECK(left_ == 0);
    const std::size_t count = std::min(input.size(), head_.size() - head_size_);
    std::copy_n(input.begin(), count, head_.begin() + static_cast<std::ptrdiff_t>(head_size_));
    input = input.subspan(count);
    head_size_ += count;
    offset_ += count;
    if (head_size_ < head_.size()) return std::nullopt;
    const blob_frame frame = parse_head(head_);
    head_size_ = 0;
    left_ = frame.size_bytes();
    return frame;
}

void blob_frame_decoder::moved(std::uint64_t count) {
    CAIRN_CHECK(count <= left_);
    left_ -= count;
    offset_ += count;
}

}  // namespace cairn
