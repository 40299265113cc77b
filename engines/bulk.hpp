// Bulk: the engine that holds byte strings too large for a catalog row.
//
// It knows nothing of rows. A byte string is written once, under a locator that is never used
// again, and is invisible until a catalog row points at it: the row is the only publication
// (SAFETY.md R1).
//
// Safe for any number of callers on any executor. After a failed sync every call answers
// errc::stopped. Implement this to plug in an engine of your own; tests/contract/bulk_test.cpp says
// whether it holds.
#pragma once

#include "engines/blob_id.hpp"
#include "engines/intake.hpp"
#include "engines/locator.hpp"
#include "engines/source.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cairn {

// A byte string that is durable and that no row points at yet. While it lives, its bytes are
// neither moved nor given back (SAFETY.md R2.4).
class draft {
public:
    draft(extent stored, bool alone) noexcept : stored_(stored), alone_(alone) {}
    draft(const draft&) = delete;
    draft& operator=(const draft&) = delete;
    // Gives up an undecided byte string: its bytes are given back, by a way that needs a later
    // commit to succeed first, because a failed COMMIT may still turn out durable (SAFETY.md R6.2).
    virtual ~draft() = default;

    const extent& stored() const noexcept { return stored_; }
    // The container holds nothing else, and nothing will follow.
    bool alone() const noexcept { return alone_; }

    // The catalog has decided, either way, and accounts for the bytes from now on.
    void decide() noexcept { decided_ = true; }

    // Nobody knows what the catalog did: the bytes stay as they are, for the next boot to judge.
    void leave() noexcept { left_ = true; }

    // The catalog refused it and nothing happened: from now on nothing will, after a crash neither.
    // Not so sure after an error. Cancelled: throws, as after an error. A draft that goes without
    // any of the three does so by itself, in the background.
    virtual awaitable<result<void>> withdraw() { co_return result<void>(); }

protected:
    bool decided() const noexcept { return decided_; }
    bool left() const noexcept { return left_; }

private:
    const extent stored_;
    const bool alone_;
    bool decided_ = false;
    bool left_ = false;
};

// What a scan finds: a byte string that was once written whole. Whether it lives, the catalog
// knows.
struct found_record {
    blob_id id;
    extent stored;
    std::uint64_t mark = 0;  // of segments (segments/record.hpp)
};

class bulk {
public:
    virtual ~bulk() = default;

    // For status: "segments on io_uring".
    virtual std::string name() const = 0;

    // Reads the body to its end and answers once its bytes are durable, or will be with the commit
    // that publishes them, which fails if they are not all there. The body's own error ends
    // the write; also errc::no_space. Then nothing is kept. Cancelled: the same, throws.
    virtual awaitable<result<std::unique_ptr<draft>>> write(intake& body) = 0;

    // The bytes of a range that lies inside, checked as they come: next() ends with errc::corrupt
    // instead of a wrong byte. errc::absent when the container is gone, errc::corrupt when the
    // stored checks are not those of `stored`. The source holds what it reads from: erase() does
    // not cut it short; an engine that many processes share may, and ends it with errc::absent.
    // Cancelled: throws, nothing is left behind.
    virtual awaitable<result<std::unique_ptr<source>>> read(extent stored, byte_range range) = 0;

    // Gives the bytes of a locator that the catalog put into `reclaim` back; offset and length zero
    // mean the whole container. Durable on return; absent is success.
    virtual awaitable<result<void>> erase(locator at) = 0;

    // Up to `limit` records after `after` in containers up to `last_container`, in locator order,
    // read from the bytes alone: for compaction and audits. Fewer than `limit` means the end.
    virtual awaitable<result<std::vector<found_record>>> scan(locator after,
                                                              std::uint64_t last_container,
                                                              std::size_t limit) = 0;

    // Ends background work. No other call is in progress or follows; await it before destruction.
    virtual awaitable<void> close() = 0;
};

}  // namespace cairn
