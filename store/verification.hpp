// Reads every blob of a store and hashes it: the proof that what is listed is there, bit for bit.
//
// Any store: in place, or another one over HTTP. Several blobs are read at once. A blob whose bytes
// fail is quarantined by the store that holds it, as any reader's would be.
#pragma once

#include "store/comparison.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>

namespace cairn {

struct verify_limits {
    std::size_t in_flight = 8;  // blobs that are read at once; at least one
    std::size_t page_blobs = 10'000;
};

// Is told how it goes, on the caller's executor. Override what matters.
class verify_watcher {
public:
    virtual ~verify_watcher() = default;

    virtual void read(std::uint64_t bytes) { static_cast<void>(bytes); }
    virtual void good(const listed_blob&) {}
    virtual void bad(const listed_blob&, const error_code&) {}
};

struct verify_report {
    blob_count good;
    blob_count bad;  // as the watcher was told, one by one
};

// Returns when every blob that the store listed was read, or removed meanwhile; an error that
// concerns more than one blob ends it. Store and watcher outlive the call. Cancelled: throws.
awaitable<result<verify_report>> verify(store& of,
                                        verify_watcher& watcher,
                                        verify_limits limits = {});

}  // namespace cairn
