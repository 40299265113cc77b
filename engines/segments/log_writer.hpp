// Writes the ends of records into their segments and makes the records durable: one write and one
// fdatasync for all that came while the last ones were under way.
//
// Neighbours in a file become one write. A sync reaches over the records of its batch and no
// further, so nobody waits for bytes that others are still writing. Runs on a thread where no
// caller runs: while it writes and syncs a batch, callers hash what will be the next one.
#pragma once

#include "io/file.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/group_commit.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

namespace cairn {

// The end of a record, of which the beginning is written; or all of it.
struct log_write {
    std::shared_ptr<file> in;
    std::uint64_t offset = 0;  // of the first of these bytes
    std::vector<buffer> bytes;
    byte_range record;  // which they end
};

class log_writer {
public:
    // `stop` outlives it.
    log_writer(executor home, fail_stop& stop);

    // The record is durable. Errors: the file's, and nothing of it counts; errc::outcome_unknown
    // when the sync failed, which stops the store; those of group_commit. Cancelled: before its
    // batch it throws and nothing is written, after that it completes.
    awaitable<result<void>> write(log_write what);

    group_commit_counts counts() const noexcept { return queue_.counts(); }

    awaitable<void> close() { return queue_.close(); }

private:
    using queue = group_commit<log_write, std::monostate>;

    awaitable<outcome> step(std::span<queue::entry> batch);

    fail_stop& stop_;
    queue queue_;
};

}  // namespace cairn
