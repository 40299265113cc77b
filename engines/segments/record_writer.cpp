#include "engines/segments/record_writer.hpp"

#include "engines/segments/record.hpp"

#include <algorithm>
#include <boost/system/errc.hpp>
#include <utility>

namespace cairn {
awaitable<result<void>> record_writer::add(buffer window) {
    const buffer ready = std::exchange(held_, std::move(window));
    if (ready.empty()) co_return result<void>();
    const std::uint64_t at = offset_ + written_bytes_;
    written_bytes_ += ready.size();
    co_return co_await in_->write_at(at, ready);
}

awaitable<result<void>> record_writer::move_to(std::shared_ptr<file> in,
                                               std::uint64_t segment,
                                               std::uint64_t offset) {
    const std::shared_ptr<file> from = std::exchange(in_, std::move(in));
    const std::uint64_t from_offset = std::exchange(offset_, offset);
    segment_ = segment;
    for (std::uint64_t done = 0; done < written_bytes_;) {
        const std::uint64_t size_bytes =
            std::min<std::uint64_t>(written_bytes_ - done, window_bytes);
        auto window = co_await from->read_at(from_offset + done, size_bytes);
        if (!window) co_return window.error();
        if (window->size() != size_bytes) co_return make_error_code(boost::system::errc::io_error);
        auto copied = co_await in_->write_at(offset_ + done, *window);
        if (!copied) co_return copied.error();
        done += size_bytes;
    }
    co_return result<void>();
}

record_end record_writer::finish(const intake& body, std::uint64_t mark) {
    const std::uint64_t length_bytes = segment_record::length_bytes(body.size_bytes());
    const locator at{segment_, offset_, length_bytes};
    record_end end;
    end.stored = {at, body.size_bytes(), body.sums().digest()};
    end.offset = offset_ + written_bytes_;
    if (!held_.empty()) end.bytes.push_back(std::move(held_));
    const segment_record::footer about{mark, body.id(), end.stored};
    end.bytes.push_back(segment_record::encode_tail(about, body.sums()));
    return end;
}

}  // namespace cairn
