// Look-ups of blobs by id: those that wait for a reader together are one query.
//
// Any executor. You read your writes: the query's snapshot is taken after its last id was gathered.
#pragma once

#include "engines/catalog.hpp"
#include "engines/postgres/database.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/group_commit.hpp"

#include <cstddef>
#include <optional>
#include <span>

namespace cairn::postgres {

class look_ups {
public:
    // On the database's reader number `index`; both outlive it.
    look_ups(database& in, std::size_t index, fail_stop& stop);

    // As catalog::find().
    awaitable<result<std::optional<row>>> find(blob_id id) { return queue_.submit(id); }

    group_commit_counts counts() const noexcept { return queue_.counts(); }
    awaitable<void> close() { return queue_.close(); }

private:
    using queue = group_commit<blob_id, std::optional<row>>;

    awaitable<outcome> step(std::span<queue::entry> batch);

    database& in_;
    const std::size_t index_;
    queue queue_;
};

// One row by id, with its value, on any reader.
awaitable<result<std::optional<row>>> find_one(database& in, blob_id id);

}  // namespace cairn::postgres
