#include "io/operation.hpp"

#include "runtime/check.hpp"

#include <algorithm>
#include <cerrno>
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
                     buffer bytes)
    : owner_(std::move(owner)),
      bytes_(std::move(bytes)),
      offset_(offset),
      descriptor_(descriptor),
      kind_(what),
      finished_(what != kind::sync && bytes_.empty()) {}

operation operation::read(std::shared_ptr<const void> owner,
                          int descriptor,
                          std::uint64_t offset,
                          std::size_t size_bytes) {
    return {kind::read, std::move(owner), descriptor, offset, buffer::allocate(size_bytes)};
}

operation operation::write(std::shared_ptr<const void> owner,
                           int descriptor,
                           std::uint64_t offset,
                           buffer bytes) {
    return {kind::write, std::move(owner), descriptor, offset, std::move(bytes)};
}

operation operation::sync(std::shared_ptr<const void> owner, int descriptor) {
    return {kind::sync, std::move(owner), descriptor, 0, buffer()};
}

std::uint32_t operation::size() const noexcept {
    return static_cast<std::uint32_t>(std::min(bytes_.size() - done_bytes_, call_bytes_max));
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
        if (kind_ == kind::read) bytes_.truncate(done_bytes_);
        return finish_with(kind_ == kind::read ? 0 : EIO);
    }
    CAIRN_CHECK(static_cast<std::uint32_t>(answer) <= size());
    fruitless_calls_ = 0;
    done_bytes_ += static_cast<std::size_t>(answer);
    if (done_bytes_ == bytes_.size()) finish_with(0);
}

void operation::finish_with(int error_number) {
    error_ = error_number;
    finished_ = true;
}

result<buffer> operation::bytes() && {
    CAIRN_CHECK(finished_);
    if (error_ != 0) return system_error_from(error_);
    return std::move(bytes_);
}

result<void> operation::status() const {
    CAIRN_CHECK(finished_);
    if (error_ != 0) return system_error_from(error_);
    return {};
}

}  // namespace cairn
