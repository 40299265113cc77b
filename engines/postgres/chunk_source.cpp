#include "engines/postgres/chunk_source.hpp"

#include "engines/postgres/sql_error.hpp"
#include "engines/postgres/stored_row.hpp"
#include "engines/postgres/upload.hpp"

#include <algorithm>
#include <utility>

namespace cairn::postgres {
namespace {

// A value as it is costs the server one copy. One more, for substring(), made it 10 times slower:
// its allocator then gave the memory back and took it anew for each row.
constexpr statement read_chunk{
    "read_chunk",
    "SELECT CASE WHEN object IS NULL THEN bytes ELSE lo_get(object, part * 262144, 262144) END"
    " FROM cairn.chunks WHERE container = $1::bigint AND part = $2::bigint"};
// substring() of an uncompressed value reads only the part; lo_get() always does.
constexpr statement read_part{
    "read_part",
    "SELECT CASE WHEN object IS NULL THEN substring(bytes FROM $3::bigint::int + 1 FOR"
    " $4::bigint::int) ELSE lo_get(object, part * 262144 + $3::bigint, $4::bigint::int) END"
    " FROM cairn.chunks WHERE container = $1::bigint AND part = $2::bigint"};

// Four on each of two connections (LIMITS.md D).
constexpr std::size_t ahead_max = 8;

std::uint64_t rounded_up(std::uint64_t offset, std::uint64_t step) noexcept {
    return (offset / step + 1) * step;
}

}  // namespace

chunk_source::chunk_source(database& in,
                           semaphore& budget,
                           extent stored,
                           std::shared_ptr<const checksums> sums,
                           byte_range range)
    : in_(in),
      budget_(budget),
      stored_(stored),
      sums_(std::move(sums)),
      range_(range),
      asked_to_(range.offset / checksum_span_bytes * checksum_span_bytes),
      given_to_(range.offset) {
    fetch_ahead();
}

awaitable<result<buffer>> chunk_source::next() {
    if (given_to_ == range_.offset + range_.size_bytes) co_return buffer();
    if (given_to_ >= here_at_ + here_.size()) {
        auto taken = co_await take_oldest();
        if (!taken) co_return taken.error();
    }
    const std::uint64_t end = std::min({range_.offset + range_.size_bytes, here_at_ + here_.size(),
                                        rounded_up(given_to_, window_bytes)});
    const buffer window = here_.slice(given_to_ - here_at_, end - given_to_);
    given_to_ = end;
    co_return window;
}

// A slow reader's bytes ahead are taken only if free at once (SAFETY.md, everywhere 1).
void chunk_source::fetch_ahead() {
    const std::uint64_t end = range_.offset + range_.size_bytes;
    while (asked_to_ < end && on_way_.size() < ahead_) {
        fetch next;
        if (!on_way_.empty()) {
            auto permit = budget_.try_acquire(chunk_bytes);
            if (!permit) return;
            next.held = std::move(*permit);
        }
        const std::uint64_t chunk_end = rounded_up(asked_to_, chunk_bytes);
        const std::uint64_t span_end = rounded_up(end - 1, checksum_span_bytes);
        next.offset = asked_to_;
        next.size_bytes = std::min({chunk_end, span_end, stored_.size_bytes}) - asked_to_;
        next.reader = stored_.at.container + asked_to_ / chunk_bytes;
        next.asked = in_.reader_at(next.reader).start(query_for(next));
        asked_to_ += next.size_bytes;
        on_way_.push_back(std::move(next));
    }
}

segment chunk_source::query_for(const fetch& what) const {
    parameters with;
    with.add(signed_of(stored_.at.container)).add(signed_of(what.offset / chunk_bytes));
    const std::uint64_t end = what.offset + what.size_bytes;
    const bool is_to_end = end % chunk_bytes == 0 || end == stored_.size_bytes;
    if (what.offset % chunk_bytes == 0 && is_to_end) return segment(read_chunk, std::move(with));
    with.add(signed_of(what.offset % chunk_bytes)).add(signed_of(what.size_bytes));
    return segment(read_part, std::move(with));
}

awaitable<result<void>> chunk_source::take_oldest() {
    here_held_.release();
    fetch_ahead();
    fetch oldest = std::move(on_way_.front());
    on_way_.pop_front();
    auto answered = co_await oldest.asked.answer();
    if (!answered && lane::may_run_again(answered.error())) {
        segment again = query_for(oldest);
        answered = co_await in_.read(oldest.reader, std::move(again));
    }
    if (!answered && is_damage(answered.error())) co_return error_code(errc::corrupt);
    if (!answered) co_return answered.error();
    const rows& found = answered->at(0);
    if (found.empty()) co_return error_code(errc::absent);
    const byte_view bytes = found.bytes(0, 0);
    auto good = check(bytes, oldest);
    if (!good) co_return good.error();
    here_ = buffer::copy_of(bytes);
    here_at_ = oldest.offset;
    here_held_ = std::move(oldest.held);
    ahead_ = std::min(ahead_ * 2, ahead_max);
    fetch_ahead();
    co_return result<void>();
}

result<void> chunk_source::check(byte_view bytes, const fetch& what) const {
    if (bytes.size() != what.size_bytes) return errc::corrupt;
    std::uint64_t index = what.offset / checksum_span_bytes;
    for (; !bytes.empty(); ++index) {
        const byte_view span = bytes.first(std::min(bytes.size(), checksum_span_bytes));
        if (!sums_->match(index, span)) return errc::corrupt;
        bytes = bytes.subspan(span.size());
    }
    return {};
}

}  // namespace cairn::postgres
