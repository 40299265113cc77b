#include "io/operation.hpp"

#include "runtime/check.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace cairn {
namespace {

// The kernel moves at most 0x7ffff000 bytes in one call; a round number below that keeps pieces
// aligned.
constexpr std::size_t call_bytes_max = std::size_t{1} << 30;

// EINTR and EAGAIN in a row, without a byte moved, before they count as the answer.
constexpr std::uint16_t fruitless_calls_max = 100;

}  // namespace

operation::operation(kind what,
                     std::shared_ptr<const void> owner,
                     int descriptor,
                     std::uint64_t offset,
                     std::vector<buffer> pieces)
    : owner_(std::move(owner)),
      pieces_(std::move(pieces)),
      offset_(offset),
      descriptor_(descriptor),
      kind_(what),
      finished_(false) {
    skip_done_pieces();
    finished_ = what != kind::sync && piece_ == pieces_.size();
}

operation operation::read(std::shared_ptr<const void> owner,
                          int descriptor,
                          std::uint64_t offset,
                          std::size_t size_bytes) {
    return {kind::read, std::move(owner), descriptor, offset, {buffer::allocate(size_bytes)}};
}

operation operation::write(std::shared_ptr<const void> owner,
                           int descriptor,
                           std::uint64_t offset,
                           std::vector<buffer> pieces) {
    return {kind::write, std::move(owner), descriptor, offset, std::move(pieces)};
}

operation operation::sync(std::shared_ptr<const void> owner, int descriptor, byte_range written) {
    operation made(kind::sync, std::move(owner), descriptor, written.offset, {});
    made.sync_bytes_ = written.size_bytes;
    return made;
}

std::uint32_t operation::size() const noexcept {
    if (piece_ == pieces_.size()) return 0;
    const std::size_t left = pieces_[piece_].size() - piece_done_bytes_;
    return static_cast<std::uint32_t>(std::min(left, call_bytes_max));
}

std::span<const iovec> operation::vector() {
    vector_.assign(1, iovec{data(), size()});
    std::size_t bytes = size();
    for (std::size_t i = piece_ + 1; i < pieces_.size() && vector_.size() < IOV_MAX; ++i) {
        bytes += pieces_[i].size();
        if (bytes > call_bytes_max) break;
        vector_.push_back({pieces_[i].mutable_data(), pieces_[i].size()});
    }
    return vector_;
}

void operation::advance(int answer) {
    CAIRN_CHECK(!finished_);
    if (kind_ == kind::sync) return finish_with(answer < 0 ? -answer : 0);
    if (answer == -EINTR || answer == -EAGAIN) {
        if (++fruitless_calls_ == fruitless_calls_max) finish_with(-answer);
        return;
    }
    if (answer < 0) return finish_with(-answer);
    if (answer == 0) {
        // A read met the end of the file. A write that moves nothing never will.
        if (kind_ == kind::read) pieces_.front().truncate(done_bytes_);
        return finish_with(kind_ == kind::read ? 0 : EIO);
    }
    fruitless_calls_ = 0;
    done_bytes_ += static_cast<std::size_t>(answer);
    piece_done_bytes_ += static_cast<std::size_t>(answer);
    skip_done_pieces();
    if (piece_ == pieces_.size()) finish_with(0);
}

// To the first piece that has bytes left, or behind the last.
void operation::skip_done_pieces() noexcept {
    while (piece_ < pieces_.size() && piece_done_bytes_ >= pieces_[piece_].size()) {
        piece_done_bytes_ -= pieces_[piece_++].size();
    }
    CAIRN_CHECK(piece_ < pieces_.size() || piece_done_bytes_ == 0);
}

void operation::finish_with(int error_number) {
    error_ = error_number;
    finished_ = true;
}

result<buffer> operation::bytes() && {
    CAIRN_CHECK(finished_);
    if (error_ != 0) return system_error_from(error_);
    return std::move(pieces_.front());
}

result<void> operation::status() const {
    CAIRN_CHECK(finished_);
    if (error_ != 0) return system_error_from(error_);
    return {};
}

}  // namespace cairn
