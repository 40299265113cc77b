// Copies what one store has and another lacks.
//
// Both lists are read in id order and merged; what only `from` has is streamed over, several blobs
// at once, hashed on its way as every put is. Nothing but `to` itself remembers how far a copy
// came: one that was ended is resumed by copying again. Memory: a page of ids of each store, and
// the windows of the blobs in flight.
#pragma once

#include "store/comparison.hpp"
#include "store/store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cairn {

struct copy_limits {
    std::size_t in_flight = 16;       // blobs on their way at once; at least one
    std::size_t page_blobs = 10'000;  // ids that a store is asked for at once
    // Of one blob, when a store is overloaded or away; the waits between them double, so that all
    // together outlast a restart or a failover: 12.7 s.
    std::size_t tries = 8;
    std::chrono::milliseconds first_wait{100};
};

enum class copy_side { from, to };

// Is told how a copy goes, on its caller's executor. Override what matters.
class copy_watcher {
public:
    virtual ~copy_watcher() = default;

    virtual void present(const listed_blob&) {}  // it was there before
    virtual void moved(std::uint64_t) {}         // so many bytes of a blob, on their way
    virtual void copied(const listed_blob&) {}
    // Not copied: its bytes at `from` are bad, or `to` refuses it.
    virtual void left_behind(const listed_blob&, const error_code&) {}
    // A store failed; the same is tried again, or this is how the copy ends.
    virtual void troubled(copy_side, const error_code&, bool tries_again) {
        static_cast<void>(tries_again);
    }
};

struct copy_report {
    blob_count present;  // `to` had them
    blob_count copied;
    std::uint64_t vanished = 0;     // removed from `from` meanwhile
    std::uint64_t left_behind = 0;  // as the watcher was told, one by one
};

// Returns when everything that `from` listed is at `to`, vanished or left behind; an error of
// either store that concerns more than one blob ends it, and what was copied stays. Both stores and
// the watcher outlive the call. Cancelled: throws once the blobs in flight were given up.
awaitable<result<copy_report>> copy(store& from,
                                    store& to,
                                    copy_watcher& watcher,
                                    copy_limits limits = {});

}  // namespace cairn
