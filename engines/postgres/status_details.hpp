// What `cairn status` shows of a PostgreSQL store: its connections and batches here, and sizes, lag
// and vacuum there.
#pragma once

#include "engines/catalog.hpp"
#include "engines/postgres/database.hpp"
#include "runtime/group_commit.hpp"

#include <vector>

namespace cairn::postgres {

struct batch_counts {
    group_commit_counts commits;
    group_commit_counts look_ups;
};

// What the role may not see is left out.
awaitable<result<std::vector<status_detail>>> status_details(database& of, batch_counts batches);

}  // namespace cairn::postgres
