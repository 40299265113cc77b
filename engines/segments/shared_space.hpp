// Room in the open segment, for records small enough to share one.
//
// A reservation is [offset, offset + length) of the open segment, made before the bytes arrive.
// When the open segment has no room left it is full, and a new one is made; a full segment is
// sealed when the last reservation and the last undecided record in it are gone (SAFETY.md R2.4).
// Live reservations have a budget, and a record that was never finished gives its space back. Any
// executor. Reservations are gone before close().
#pragma once

#include "engines/segments/log_writer.hpp"
#include "engines/segments/segment_maker.hpp"
#include "engines/segments/written_ahead.hpp"
#include "runtime/semaphore.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace cairn {

class shared_space {
public:
    class reservation;

    // `maker` outlives it. Each segment takes segment_bytes, or what a small disk can spare. Those
    // of puts are replayed (engines/log_commits.hpp).
    shared_space(segment_maker& maker,
                 log_writer& log,
                 std::uint64_t segment_bytes,
                 intake_for what);
    ~shared_space();

    // Nothing when the budget of live reservations, one segment, is used up: the record then gets a
    // segment of its own. Waits while a new segment is made. Errors: those of making one.
    // Cancelled: throws, nothing is reserved.
    awaitable<result<std::optional<reservation>>> reserve(std::uint64_t length_bytes);

    // Seals the open segment, so that its tail is given back.
    awaitable<void> close();

private:
    struct open_segment_state;
    using state_ptr = std::shared_ptr<open_segment_state>;

    std::optional<reservation> take(semaphore::permit& budget, std::uint64_t length_bytes);
    void write_ahead(const state_ptr& in);
    awaitable<void> write_zeros(state_ptr in, written_ahead::piece where);
    awaitable<result<void>> make_room(std::uint64_t length_bytes);
    awaitable<result<std::uint64_t>> affordable(std::uint64_t length_bytes);
    void retire(const state_ptr& full);
    void leave(const state_ptr& in);
    awaitable<void> give_back(state_ptr in, std::uint64_t offset, std::uint64_t length);

    segment_maker& maker_;
    log_writer& log_;
    const std::uint64_t segment_bytes_;
    const intake_for what_;
    semaphore budget_;
    semaphore making_{1};  // one coroutine makes the next segment, the others wait for it
    std::mutex mutex_;
    state_ptr open_;
};

struct shared_space::open_segment_state {
    std::uint64_t segment = 0;
    std::uint64_t replay_key = 0;
    std::shared_ptr<file> in;
    std::uint64_t capacity_bytes = 0;
    std::uint64_t cursor_bytes = 0;  // guarded by mutex_, as the rest
    written_ahead ahead;
    std::size_t busy_count = 0;  // reservations, records whose row is undecided, zeros under way
    bool full = false;

    // Where the next record of that length begins; nothing when there is no room for it.
    std::optional<std::uint64_t> room_for(std::uint64_t length_bytes) const noexcept {
        const std::uint64_t offset = ahead.place(cursor_bytes, length_bytes);
        if (offset + length_bytes > capacity_bytes) return std::nullopt;
        return offset;
    }
};

// A place in a shared segment; the segment is not sealed while it lives.
class shared_space::reservation {
public:
    reservation(reservation&& other) noexcept = default;
    reservation& operator=(reservation&& other) noexcept;
    ~reservation() { drop(); }

    const std::shared_ptr<file>& in() const noexcept { return state_->in; }
    std::uint64_t segment() const noexcept { return state_->segment; }
    std::uint64_t replay_key() const noexcept { return state_->replay_key; }
    std::uint64_t offset() const noexcept { return offset_; }

    // The record is whole and synced: its space stays, published or not, and its budget is free.
    void keep() noexcept;

private:
    friend class shared_space;
    reservation(shared_space& owner,
                state_ptr state,
                std::uint64_t offset,
                std::uint64_t length_bytes,
                semaphore::permit budget)
        : owner_(&owner),
          state_(std::move(state)),
          offset_(offset),
          length_bytes_(length_bytes),
          budget_(std::move(budget)) {}

    void drop() noexcept;

    shared_space* owner_;
    state_ptr state_;  // null when moved from
    std::uint64_t offset_;
    std::uint64_t length_bytes_;
    semaphore::permit budget_;
    bool kept_ = false;
};

}  // namespace cairn
