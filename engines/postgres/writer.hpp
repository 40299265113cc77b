// The queue of changes in front of the lane for commits: those that gather while a transaction runs
// are the next one.
//
// A lost connection stops nobody: the transaction runs again until its outcome is known. When the
// server stays away, each of its changes is answered errc::unavailable; such a change may have
// happened, and repeating it is safe. An error of the data makes the batch fall apart until the
// request that spoils it fails alone.
#pragma once

#include "engines/catalog.hpp"
#include "engines/postgres/commit_batch.hpp"
#include "engines/postgres/database.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/group_commit.hpp"

#include <cstddef>
#include <span>
#include <variant>
#include <vector>

namespace cairn::postgres {

class writer {
public:
    // Both outlive it.
    writer(database& in, fail_stop& stop);

    // As catalog::commit().
    awaitable<result<applied>> commit(change what) { return changes_.submit(std::move(what)); }
    // Waits for a transaction that began after the call and wrote something.
    awaitable<result<std::monostate>> confirm() { return confirms_.submit(std::monostate()); }

    group_commit_counts counts() const noexcept { return changes_.counts(); }
    awaitable<void> close();

private:
    using queue = group_commit<change, applied>;
    using confirm_queue = group_commit<std::monostate, std::monostate>;

    awaitable<outcome> step(std::span<queue::entry> batch);
    awaitable<outcome> run_part(const commit_batch::origin& from, std::span<queue::entry> batch);
    awaitable<result<void>> run(commit_batch& batch);
    awaitable<result<std::vector<std::optional<buffer>>>> bad_values(
        std::span<const queue::entry> batch);
    awaitable<outcome> confirm_step(std::span<confirm_queue::entry> batch);

    database& in_;
    lane& over_;
    // Touched by step() alone.
    std::uint64_t batch_number_ = 0;
    std::size_t batch_entries_ = 0;
    std::size_t undecided_entries_ = 0;  // of the batch; its parts come in order
    queue changes_;
    confirm_queue confirms_;
};

}  // namespace cairn::postgres
