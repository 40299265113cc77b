#include "engines/segments/shared_space.hpp"

#include "engines/segments/record.hpp"
#include "runtime/check.hpp"

#include <algorithm>
#include <random>
#include <string>

namespace cairn {
namespace {

std::uint64_t fresh_key() {
    std::random_device random;
    const std::uint64_t high = random();
    return high << 32 | random() | 1;
}

buffer zeros(std::size_t size_bytes) {
    static const std::string all(written_ahead::step_bytes, '\0');
    static const buffer block = buffer::copy_of(as_bytes(all));
    return block.slice(0, size_bytes);
}

}  // namespace

shared_space::shared_space(segment_maker& maker,
                           log_writer& log,
                           std::uint64_t segment_bytes,
                           intake_for what)
    : maker_(maker),
      log_(log),
      segment_bytes_(segment_bytes),
      what_(what),
      budget_(segment_bytes) {}

shared_space::~shared_space() { CAIRN_CHECK(!open_ || open_->busy_count == 0); }

awaitable<result<std::optional<shared_space::reservation>>> shared_space::reserve(
    std::uint64_t length_bytes) {
    std::optional<reservation> nothing;
    if (length_bytes > segment_bytes_) co_return nothing;
    auto budget = budget_.try_acquire(length_bytes);
    if (!budget) co_return nothing;
    while (true) {
        if (auto taken = take(*budget, length_bytes)) co_return taken;
        auto made = co_await make_room(length_bytes);
        if (!made) co_return made.error();
    }
}

std::optional<shared_space::reservation> shared_space::take(semaphore::permit& budget,
                                                            std::uint64_t length_bytes) {
    std::lock_guard lock(mutex_);
    if (!open_) return std::nullopt;
    const auto offset = open_->room_for(length_bytes);
    if (!offset) return std::nullopt;
    open_->cursor_bytes = *offset + length_bytes;
    ++open_->busy_count;
    write_ahead(open_);
    return reservation(*this, open_, *offset, length_bytes, std::move(budget));
}

// Under mutex_. With more on its way than this it is bytes that callers wait for.
void shared_space::write_ahead(const state_ptr& in) {
    constexpr std::uint64_t unsynced_bytes_max = 128 << 10;
    if (budget_.total() - budget_.available() > unsynced_bytes_max) return;
    const auto where = in->ahead.next(in->cursor_bytes, in->capacity_bytes);
    if (!where) return;
    ++in->busy_count;
    maker_.run([this, in, where = *where] { return write_zeros(in, where); });
}

// As a record, with a sync: then its blocks count as written before records come there, and it is
// this sync that waits for the file system's journal. Puts wait for the piece as for a batch of
// theirs, so it is small.
awaitable<void> shared_space::write_zeros(state_ptr in, written_ahead::piece where) {
    log_write piece;
    piece.in = in->in;
    piece.offset = where.offset;
    piece.bytes.push_back(zeros(where.size_bytes));
    piece.record = {where.offset, where.size_bytes};
    const auto written = co_await log_.write(std::move(piece));
    {
        std::lock_guard lock(mutex_);
        in->ahead.done(written.has_value());
    }
    leave(in);
}

awaitable<result<void>> shared_space::make_room(std::uint64_t length_bytes) {
    const semaphore::permit turn = co_await making_.acquire();
    state_ptr full;
    {
        std::lock_guard lock(mutex_);
        if (open_ && open_->room_for(length_bytes)) co_return result<void>();
        full = std::exchange(open_, nullptr);
    }
    if (full) retire(full);
    auto capacity_bytes = co_await affordable(length_bytes);
    if (!capacity_bytes) co_return capacity_bytes.error();
    unfinished_segment fresh(maker_);
    const std::uint64_t replay_key = what_ == intake_for::put ? fresh_key() : 0;
    auto in = co_await fresh.make(*capacity_bytes, what_, replay_key);
    if (!in) co_return in.error();
    std::lock_guard lock(mutex_);
    open_ = std::make_shared<open_segment_state>();
    open_->segment = fresh.finished();
    open_->replay_key = replay_key;
    open_->in = std::move(*in);
    open_->capacity_bytes = *capacity_bytes;
    co_return result<void>();
}

// A small disk is not filled by one preallocation.
awaitable<result<std::uint64_t>> shared_space::affordable(std::uint64_t length_bytes) {
    auto spare_bytes = co_await maker_.spare_space(what_);
    if (!spare_bytes) co_return spare_bytes.error();
    const std::uint64_t share =
        *spare_bytes / 4 / segment_record::block_bytes * segment_record::block_bytes;
    co_return std::clamp(share, length_bytes, std::max(length_bytes, segment_bytes_));
}

void shared_space::retire(const state_ptr& full) {
    bool idle = false;
    {
        std::lock_guard lock(mutex_);
        full->full = true;
        idle = full->busy_count == 0;
    }
    if (!idle) return;  // leave() seals it
    maker_.seal(full->segment, full->in);
}

void shared_space::leave(const state_ptr& in) {
    {
        std::lock_guard lock(mutex_);
        if (--in->busy_count > 0 || !in->full) return;
    }
    maker_.seal(in->segment, in->in);
}

// The segment stays unsealed until the space is given back, since sealing cuts the file; and it is
// left inside the job, so that whoever waits for jobs sees the sealing that follows.
awaitable<void> shared_space::give_back(state_ptr in, std::uint64_t offset, std::uint64_t length) {
    // Only space: where it cannot be given back it is dead space, which compaction finds.
    (void)co_await in->in->punch(offset, length);
    leave(in);
}

awaitable<void> shared_space::close() {
    state_ptr last;
    {
        std::lock_guard lock(mutex_);
        last = std::exchange(open_, nullptr);
    }
    if (last) retire(last);
    co_return;
}

shared_space::reservation& shared_space::reservation::operator=(reservation&& other) noexcept {
    if (this == &other) return *this;
    drop();
    owner_ = other.owner_;
    state_ = std::move(other.state_);
    offset_ = other.offset_;
    length_bytes_ = other.length_bytes_;
    budget_ = std::move(other.budget_);
    kept_ = other.kept_;
    return *this;
}

void shared_space::reservation::keep() noexcept {
    kept_ = true;
    budget_.release();
}

void shared_space::reservation::drop() noexcept {
    if (!state_) return;
    const state_ptr state = std::move(state_);
    if (kept_) return owner_->leave(state);
    owner_->maker_.run([owner = owner_, state, offset = offset_, length = length_bytes_] {
        return owner->give_back(state, offset, length);
    });
}

}  // namespace cairn
