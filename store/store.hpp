// The one interface: a content-addressed blob store.
//
// Behind it stand local_store (a catalog and a bulk engine), remote_store (another cairn, over
// HTTP) and what an embedder puts there. Copying between any two is to.put(*from.get(id), id).
//
// Every call may be awaited from any executor and resumes the caller there; what is in memory is
// answered without a hop. Errors are error codes; only cancellation throws. After close() every
// call answers errc::closed, and after a failed sync errc::stopped (SAFETY.md R6).
#pragma once

#include "engines/blob_id.hpp"
#include "engines/source.hpp"
#include "engines/status_detail.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/bytes.hpp"
#include "runtime/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

enum class durability {
    full,        // survives a kill, a crash and a power cut
    replicated,  // and the loss of the primary
    none,        // the storage cannot keep the promise, and a person allowed that
};

std::string_view to_string(durability level) noexcept;

struct receipt {
    blob_id id;
    std::uint64_t size_bytes = 0;
    bool created = false;  // false: the blob was there, and the bytes were checked against it
    durability kept = durability::full;
};

// The promise that a blob stays: for ever under the retention keep-all, the only one so far.
struct lease {
    std::uint64_t size_bytes = 0;
};

struct listed_blob {
    blob_id id;
    std::uint64_t size_bytes = 0;
};

// What `cairn status` and /status show. Counts are exact as of one moment.
struct store_status {
    std::string catalog;  // "sqlite", "memory", or the address of a remote store
    std::string bulk;     // "segments on io_uring", "memory", ...
    durability kept = durability::full;
    std::uint64_t boot = 0;
    std::uint64_t blob_count = 0;
    std::uint64_t blob_bytes = 0;       // sum of the blobs' sizes
    std::uint64_t bulk_live_bytes = 0;  // space of records that rows point at
    std::uint64_t bulk_dead_bytes = 0;  // space that compaction can give back
    std::uint64_t segment_count = 0;
    std::uint64_t reclaim_count = 0;  // locators whose bytes wait to be given back
    std::uint64_t quarantined_count = 0;
    std::vector<status_detail> details;  // what the catalog's engine tells besides
    std::string stopped;                 // why the store answers nobody; empty while it runs
};

struct backup {
    std::string name;  // of its file
    std::uint64_t size_bytes = 0;
};

class store {
public:
    virtual ~store() = default;

    // Stores the body and answers once it is durable. Every body is hashed here, whoever sent it.
    // errc::digest_mismatch when it does not hash to `claim`, errc::too_large, errc::no_space,
    // errc::vanished (put it again), or the error with which the body ended: then nothing is
    // visible. Of several puts of one blob at once all succeed and at most one says created.
    // Cancelled before the body's end: nothing is visible, throws. After it: completes.
    virtual awaitable<result<receipt>> put(source& body, std::optional<blob_id> claim) = 0;

    // The bytes of `range`, cut at the blob's end and verified as they come; null when the blob is
    // absent. errc::quarantined, or errc::out_of_range when the range begins at or past the end (of
    // an empty blob: past it, so that the whole of it can be asked for). A source that finds its
    // bytes bad ends with errc::corrupt and the blob is quarantined. The source keeps what it reads
    // from alive: a removal meanwhile does not cut it short; only on PostgreSQL it may, and ends it
    // with errc::vanished. Cancelled: throws, nothing is left behind.
    virtual awaitable<result<std::unique_ptr<source>>> get(blob_id id, byte_range range) = 0;

    // The blob's size, with the promise that it stays while the lease lives; nothing when absent or
    // quarantined.
    virtual awaitable<result<std::optional<lease>>> hold(blob_id id) = 0;

    // The live set in id order: up to `limit` blobs whose id is greater than `after`, or from the
    // first. Fewer than `limit` means that the end is reached.
    virtual awaitable<result<std::vector<listed_blob>>> list(std::optional<blob_id> after,
                                                             std::size_t limit) = 0;

    // Removes a blob, quarantined or not, and answers once that is durable; false when it was
    // absent. Its bytes are given back later. Cancelled before its batch: nothing happened, throws.
    virtual awaitable<result<bool>> remove(blob_id id) = 0;

    virtual awaitable<result<store_status>> status() = 0;

    // Makes a backup of what the store's own files cannot be rebuilt from, in the store's folder,
    // and answers once it is durable. errc::unsupported where that is another system's business
    // (PostgreSQL), errc::overloaded while another is being made.
    virtual awaitable<result<backup>> back_up() { co_return error_code(errc::unsupported); }

    // Ends what is under way and lets go of everything. Await it before destruction.
    virtual awaitable<void> close() = 0;
};

}  // namespace cairn
