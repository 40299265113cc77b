// What a crash left in the log alone: records whose rows were committed and not synced
// (engines/log_commits.hpp).
#pragma once

#include "engines/catalog.hpp"
#include "io/file.hpp"

#include <memory>
#include <vector>

namespace cairn {

// The puts of the whole records behind the end of `left`, which is replayed and was left unsealed
// by an ended boot, by offset. Some of them may never have been answered: that is no harm, their
// bytes are all there. They are written once more, over themselves: after a sync that failed a page
// may be readable and clean without being on the disk, and the next sync must mean something. Reads
// the rest of the segment, at most its size; an error is the answer, because what could not be read
// may have been acknowledged.
awaitable<result<std::vector<put_blob>>> puts_to_replay(std::shared_ptr<file> in, segment_row left);

}  // namespace cairn
