#include "engines/segments/record_checks.hpp"

#include "engines/segments/record.hpp"
#include "runtime/check.hpp"

#include <algorithm>
#include <utility>

namespace cairn {

record_checks::record_checks(extent stored, checksums sums, verifying when)
    : stored_(stored), sums_(std::move(sums)), when_(when), good_((sums_.count() + 63) / 64) {}

awaitable<result<std::shared_ptr<record_checks>>> record_checks::load(std::shared_ptr<file> from,
                                                                      extent stored,
                                                                      verifying when) {
    const std::uint64_t offset =
        stored.at.offset + segment_record::trailer_offset(stored.size_bytes);
    const std::uint64_t size_bytes = segment_record::trailer_bytes(stored.size_bytes);
    auto trailer = co_await from->read_at(offset, size_bytes);
    if (!trailer) co_return trailer.error();
    auto sums = segment_record::decode_trailer(trailer->view(), stored);
    if (!sums) co_return error_code(errc::corrupt);
    co_return std::shared_ptr<record_checks>(new record_checks(stored, std::move(*sums), when));
}

std::size_t record_checks::memory_bytes() const noexcept {
    return sizeof *this + sums_.encoded().size() + good_.size() * sizeof good_[0];
}

bool record_checks::judge(std::uint64_t index, byte_view span) noexcept {
    auto& word = good_[index / 64];
    const std::uint64_t bit = std::uint64_t{1} << index % 64;
    const bool good = sums_.match(index, span);
    const bool known_good = (word.load(std::memory_order_relaxed) & bit) != 0;
    if (good && !known_good) word.fetch_or(bit, std::memory_order_relaxed);
    if (!good) word.fetch_and(~bit, std::memory_order_relaxed);
    return good;
}

bool record_checks::all_good(std::uint64_t begin_offset, std::uint64_t end_offset) const noexcept {
    if (when_ == verifying::always) return false;
    const std::uint64_t last = checksums::count_for(end_offset);
    for (std::uint64_t index = begin_offset / checksum_span_bytes; index < last; ++index) {
        const std::uint64_t word = good_[index / 64].load(std::memory_order_relaxed);
        if ((word >> index % 64 & 1) == 0) return false;
    }
    return true;
}

namespace {

class record_range final : public source {
public:
    record_range(std::shared_ptr<cairn::file> in,
                 std::shared_ptr<record_checks> checks,
                 byte_range range)
        : in_(std::move(in)),
          checks_(std::move(checks)),
          at_(range.offset),
          end_(range.offset + range.size_bytes),
          size_bytes_(range.size_bytes) {
        CAIRN_CHECK(end_ <= checks_->stored().size_bytes);
    }

    std::optional<std::uint64_t> size() const override { return size_bytes_; }

    awaitable<result<buffer>> next() override {
        if (at_ == end_) co_return buffer();
        // Whole spans are read, because only whole spans can be checked.
        const std::uint64_t index = at_ / checksum_span_bytes;
        const std::uint64_t span_begin = index * checksum_span_bytes;
        const extent& record = checks_->stored();
        const std::uint64_t span_bytes =
            std::min<std::uint64_t>(checksum_span_bytes, record.size_bytes - span_begin);
        auto span = co_await in_->read_at(record.at.offset + span_begin, span_bytes);
        if (!span) co_return span.error();
        const bool good = span->size() == span_bytes && checks_->judge(index, span->view());
        if (!good) co_return error_code(errc::corrupt);
        const std::uint64_t until = std::min(end_, span_begin + span_bytes);
        buffer window = span->slice(at_ - span_begin, until - at_);
        at_ = until;
        co_return window;
    }

    std::optional<file_range> file() const override {
        const bool can_send = in_->native_handle() >= 0 && checks_->all_good(at_, end_);
        if (!can_send) return std::nullopt;
        return file_range{in_, checks_->stored().at.offset + at_, end_ - at_};
    }

private:
    const std::shared_ptr<cairn::file> in_;
    const std::shared_ptr<record_checks> checks_;
    std::uint64_t at_;
    const std::uint64_t end_;
    const std::uint64_t size_bytes_;
};

}  // namespace

std::unique_ptr<source> read_range(std::shared_ptr<file> in,
                                   std::shared_ptr<record_checks> checks,
                                   byte_range range) {
    return std::make_unique<record_range>(std::move(in), std::move(checks), range);
}

}  // namespace cairn
