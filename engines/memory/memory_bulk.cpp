#include "engines/memory/memory_bulk.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cairn {
namespace {

// Cuts windows of any size into spans of checksum_span_bytes.
class span_builder {
public:
    void add(byte_view bytes) {
        while (!bytes.empty()) {
            if (filled_ == 0) span_ = buffer::allocate(checksum_span_bytes);
            const std::size_t count = std::min(bytes.size(), checksum_span_bytes - filled_);
            std::memcpy(span_.mutable_data() + filled_, bytes.data(), count);
            filled_ += count;
            bytes = bytes.subspan(count);
            if (filled_ == checksum_span_bytes) end_span();
        }
    }
    std::vector<buffer> finish() {
        if (filled_ > 0) end_span();
        return std::move(spans_);
    }

private:
    void end_span() {
        span_.truncate(filled_);
        spans_.push_back(std::exchange(span_, {}));
        filled_ = 0;
    }

    buffer span_;
    std::size_t filled_ = 0;
    std::vector<buffer> spans_;
};

}  // namespace

class memory_bulk::memory_draft final : public draft {
public:
    memory_draft(memory_bulk& owner, extent stored) : draft(stored, true), owner_(owner) {}
    ~memory_draft() override {
        if (decided()) return;
        std::lock_guard lock(owner_.mutex_);
        owner_.records_.erase(stored().at.container);
    }

private:
    memory_bulk& owner_;
};

class memory_bulk::record_source final : public source {
public:
    record_source(std::shared_ptr<const record> from, byte_range range)
        : from_(std::move(from)), at_(range.offset), end_(range.offset + range.size_bytes) {}

    std::optional<std::uint64_t> size() const override { return end_ - begin_; }

    awaitable<result<buffer>> next() override {
        if (at_ == end_) co_return buffer();
        const std::uint64_t index = at_ / checksum_span_bytes;
        const buffer& span = from_->spans[index];
        if (!from_->sums.match(index, span.view())) co_return error_code(errc::corrupt);
        const std::uint64_t span_begin = index * checksum_span_bytes;
        const std::uint64_t until = std::min<std::uint64_t>(end_, span_begin + span.size());
        buffer window = span.slice(at_ - span_begin, until - at_);
        at_ = until;
        co_return window;
    }

private:
    const std::shared_ptr<const record> from_;
    std::uint64_t at_;
    const std::uint64_t begin_ = at_;
    const std::uint64_t end_;
};

awaitable<result<std::unique_ptr<draft>>> memory_bulk::write(intake& body) {
    span_builder spans;
    while (true) {
        auto window = co_await body.next();
        if (!window) co_return window.error();
        if (window->empty()) break;
        spans.add(window->view());
    }
    auto made = std::make_shared<record>();
    made->id = body.id();
    made->spans = spans.finish();
    made->sums = body.sums();
    std::lock_guard lock(mutex_);
    const locator at{next_container_++, 0, body.size_bytes()};
    made->stored = {at, body.size_bytes(), made->sums.digest()};
    const extent stored = made->stored;
    records_.emplace(at.container, std::move(made));
    co_return std::make_unique<memory_draft>(*this, stored);
}

awaitable<result<std::unique_ptr<source>>> memory_bulk::read(extent stored, byte_range range) {
    std::lock_guard lock(mutex_);
    const auto found = records_.find(stored.at.container);
    if (found == records_.end()) co_return error_code(errc::absent);
    const extent& kept = found->second->stored;
    const bool same = kept.at == stored.at && kept.size_bytes == stored.size_bytes &&
                      found->second->sums.digest() == stored.checksums_digest;
    if (!same) co_return error_code(errc::corrupt);
    co_return std::make_unique<record_source>(found->second, range);
}

awaitable<result<void>> memory_bulk::erase(locator at) {
    std::lock_guard lock(mutex_);
    records_.erase(at.container);
    co_return result<void>();
}

awaitable<result<std::vector<found_record>>> memory_bulk::scan(locator after,
                                                               std::uint64_t last_container,
                                                               std::size_t limit) {
    std::lock_guard lock(mutex_);
    std::vector<found_record> list;
    auto next = records_.upper_bound(after.container);
    for (; next != records_.end() && list.size() < limit; ++next) {
        if (next->first > last_container) break;
        list.push_back({next->second->id, next->second->stored});
    }
    co_return list;
}

awaitable<void> memory_bulk::close() { co_return; }

void memory_bulk::flip_bit(locator at, std::uint64_t bit) {
    std::lock_guard lock(mutex_);
    const auto& kept = records_.at(at.container);
    auto rotten = std::make_shared<record>(*kept);
    buffer& span = rotten->spans.at(bit / 8 / checksum_span_bytes);
    span = buffer::copy_of(span.view());
    span.mutable_data()[bit / 8 % checksum_span_bytes] ^= static_cast<std::byte>(1U << bit % 8);
    records_[at.container] = std::move(rotten);
}

}  // namespace cairn
