// Zeros that are written ahead of the records of one open segment.
//
// A preallocated block that was never written costs its first sync a commit of the file system's
// journal, a second flush: 64 KiB one at a time took 600 us into such blocks and 290 us into
// written ones. So some are always written a little ahead while it is syncs and not bytes that
// callers wait for: writing everything twice would cost more than it gains.
//
// Only arithmetic, under its owner's lock. Offsets are multiples of a block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cairn {

class written_ahead {
public:
    static constexpr std::uint64_t step_bytes = 1 << 20;
    static constexpr std::uint64_t margin_bytes = 4 * step_bytes;
    // Records that come meanwhile have so much room before they reach what is being written.
    static constexpr std::uint64_t lead_bytes = step_bytes;

    struct piece {
        std::uint64_t offset = 0;
        std::uint64_t size_bytes = 0;
    };

    // Where a record may begin, at `cursor` or behind what is being written: zeros that are on
    // their way must not meet it.
    std::uint64_t place(std::uint64_t cursor, std::uint64_t length_bytes) const noexcept {
        const bool meets = under_way_ && cursor < until_ && cursor + length_bytes > begin_;
        return meets ? until_ : cursor;
    }

    // What to write next, if anything: one piece at a time, until done().
    std::optional<piece> next(std::uint64_t cursor, std::uint64_t capacity_bytes) noexcept {
        const bool enough = until_ >= cursor + margin_bytes;
        const std::uint64_t begin = until_ > cursor ? until_ : cursor + lead_bytes;
        if (under_way_ || given_up_ || enough || begin >= capacity_bytes) return std::nullopt;
        begin_ = begin;
        until_ = std::min(begin + step_bytes, capacity_bytes);
        under_way_ = true;
        return piece{begin_, until_ - begin_};
    }

    // The piece is written, or could not be: then none is tried any more.
    void done(bool written) noexcept {
        under_way_ = false;
        given_up_ = !written;
    }

private:
    std::uint64_t begin_ = 0;
    std::uint64_t until_ = 0;  // end of the last piece
    bool under_way_ = false;
    bool given_up_ = false;
};

}  // namespace cairn
