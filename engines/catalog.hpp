// The catalog: the authority on which blobs exist, and the ledger of where their bytes are.
//
// Changes are values, gathered into batches that one durable step commits
// (runtime/group_commit.hpp): a change is answered after that step, and a change that fails fails
// alone. What a change must do in one transaction is written at its type; SAFETY.md R2 and R4 are
// kept here.
//
// Safe for any number of callers on any executor. You read your writes: a look-up that begins after
// a change was answered sees it. After a failed sync every call answers errc::stopped. Implement
// this to plug in an engine of your own; tests/contract/catalog_test.cpp says whether it holds.
#pragma once

#include "engines/blob_id.hpp"
#include "engines/locator.hpp"
#include "engines/status_detail.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/bytes.hpp"
#include "runtime/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cairn {

// One blob. Its bytes are in `value`, or in bulk at `where`.
struct row {
    std::uint64_t seq = 0;  // in the order of commit, never used again
    blob_id id;
    std::uint64_t size_bytes = 0;
    std::int64_t created_at_us = 0;  // since 1970, never before an earlier row's
    std::optional<locator> where;
    buffer value;
    std::uint64_t checksums_digest = 0;
    bool quarantined = false;

    extent stored() const noexcept { return {*where, size_bytes, checksums_digest}; }
};

// Publishes a blob. When no row stands, or the standing one is quarantined (then this heals it and
// the old bytes are dropped as by remove_blob), the bytes become the blob's. Otherwise this put has
// lost and its bytes are dropped, unless the standing row names its own locator: that is its own
// success. Won or lost, the end of a replayed segment lies behind its record from now on.
struct put_blob {
    blob_id id;
    std::uint64_t size_bytes = 0;
    std::uint64_t checksums_digest = 0;
    buffer value;                  // the bytes, when `where` is empty
    std::optional<locator> where;  // accounted for by this change from now on, won or lost
    bool alone = false;            // `where` is all that its container will ever hold: seals it,
                                   // or ends the upload of a shared bulk engine
};

// Removes a blob, quarantined or not. A locator in a container that has a segments row is counted
// as dead there; when a sealed container has nothing live left, it goes into `reclaim` as a whole.
// A locator elsewhere goes into `reclaim` itself.
struct remove_blob {
    blob_id id;
};

// Moves a blob whose bytes were copied: if its row names `from` and is not quarantined, it names
// `to` from now on, and `from` is dropped as by remove_blob; nothing else of the row changes.
// Otherwise `to` is dropped like the bytes of a put that lost, unless the row names it already:
// that is its own success. `to` lies in a segment of this boot.
struct move_blob {
    blob_id id;
    locator from;
    locator to;
    bool alone = false;  // as in put_blob
};

// Takes a blob whose bytes failed a check out of sight, if its row still names the bytes that
// failed: the locator, or the inline value, which is checked again in the same transaction.
struct quarantine_blob {
    blob_id id;
    std::optional<locator> failed_at;
    std::string reason;
};

// A segment of this boot is about to be made; committed before its file is.
struct open_segment {
    std::uint64_t segment = 0;
    // Not zero: after a crash the whole records behind its end that are marked with this key are
    // put again before anything is answered, so the log itself may be a put's commit
    // (engines/log_commits.hpp). Random, and told to nobody: no body can pass for a record.
    std::uint64_t replay_key = 0;
};

// No record will be added to the segment any more. With nothing live it goes into `reclaim`.
// Sealing a sealed or unknown segment changes nothing.
struct seal_segment {
    std::uint64_t segment = 0;
    // Put first, in the same transaction: what a crash left in the log alone. All or none, since
    // each of them moves the end behind which the next start would look for them.
    std::vector<put_blob> found = {};
};

// The bytes of a reclaimed locator are gone: its `reclaim` row goes, and a whole segment's own row.
struct forget_locator {
    locator at;
};

using change = std::variant<put_blob,
                            remove_blob,
                            move_blob,
                            quarantine_blob,
                            open_segment,
                            seal_segment,
                            forget_locator>;

struct applied {
    bool changed = false;         // the put won, the blob was removed, moved or quarantined, ...
    bool freed = false;           // something went into `reclaim`
    std::optional<row> standing;  // of put_blob that lost: the row that stands, without its value
};

struct segment_row {
    std::uint64_t segment = 0;
    std::uint64_t boot = 0;
    bool sealed = false;
    std::uint64_t end_bytes = 0;   // where the last record ends whose put was decided
    std::uint64_t live_bytes = 0;  // records that rows point at
    std::uint64_t replay_key = 0;  // of open_segment; a catalog that syncs each commit forgets it
};

struct catalog_counts {
    std::uint64_t blob_count = 0;
    std::uint64_t blob_bytes = 0;
    std::uint64_t segment_count = 0;
    std::uint64_t end_bytes = 0;  // sums over all segments
    std::uint64_t live_bytes = 0;
    std::uint64_t reclaim_count = 0;
    std::uint64_t quarantined_count = 0;
};

class catalog {
public:
    virtual ~catalog() = default;

    // For status: "sqlite".
    virtual std::string name() const = 0;
    // Of this opening, raised durably by it.
    virtual std::uint64_t boot() const noexcept = 0;

    // Answers once the change is durable. errc::no_space; errc::outcome_unknown when the sync under
    // it failed. Cancelled before its batch: withdrawn, nothing happened, throws; in its batch: it
    // completes, and the answer is returned.
    virtual awaitable<result<applied>> commit(change what) = 0;

    // Absent is a value. Quarantined rows are found. Cancelled: throws.
    virtual awaitable<result<std::optional<row>>> find(blob_id id) = 0;

    // Before an answer that rests on presence: returns once what look-ups that ended before saw has
    // the durability that commit() promises (SAFETY.md R1.6). Nothing to wait for where a row is
    // visible only after that. Cancelled: throws.
    virtual awaitable<result<void>> confirm() { co_return result<void>(); }

    // Up to `limit` rows, without values and without quarantined ones, in id order after `after`.
    virtual awaitable<result<std::vector<row>>> list(std::optional<blob_id> after,
                                                     std::size_t limit) = 0;

    // Locators whose bytes may be given back now.
    virtual awaitable<result<std::vector<locator>>> reclaimable(std::size_t limit) = 0;

    // Segments in order after `after`; only_unsealed does not look at the others.
    virtual awaitable<result<std::vector<segment_row>>> segments(std::uint64_t after,
                                                                 std::size_t limit,
                                                                 bool only_unsealed) = 0;

    virtual awaitable<result<catalog_counts>> count() = 0;

    virtual awaitable<result<std::vector<status_detail>>> details() {
        co_return std::vector<status_detail>();
    }

    // Writes all rows, as of one moment within the call, to a file that is not there yet and that
    // only a rebuild opens (store/rebuild.hpp), while changes go on; not synced. One at a time.
    // errc::no_space, and no file, when it would be larger than size_bytes_max now;
    // errc::unsupported where the engine has backups of its own. Cancelled: throws, and leaves a
    // file that is not complete, as errors do.
    virtual awaitable<result<void>> copy_to(std::filesystem::path to,
                                            std::uint64_t size_bytes_max) {
        static_cast<void>(to);
        static_cast<void>(size_bytes_max);
        co_return error_code(errc::unsupported);
    }

    // Ends what is under way. No other call is in progress or follows; await before destruction.
    virtual awaitable<void> close() = 0;
};

}  // namespace cairn
