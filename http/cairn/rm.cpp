// cairn rm: removes blobs.
#include "http/cairn/location.hpp"
#include "http/cairn/verbs.hpp"

#include <algorithm>
#include <cstdio>

namespace cairn::program {
namespace {

awaitable<int> remove_blobs(store& from, const rm_options& options) {
    int worst = exit_done;
    for (const blob_id& id : options.ids) {
        const auto removed = co_await from.remove(id);
        if (!removed) {
            complain(id.hex(), removed.error());
            worst = std::max(worst, status_of(removed.error()));
            continue;
        }
        if (options.json) {
            std::printf("{\"id\":\"%s\",\"removed\":%s}\n", id.hex().c_str(),
                        *removed ? "true" : "false");
        }
        if (!*removed) {
            complain(id.hex(), errc::absent);
            worst = std::max<int>(worst, exit_refused);
        }
    }
    co_return worst;
}

}  // namespace

int rm(runtime& threads, const rm_options& options) {
    const auto work = [&](store& from) { return remove_blobs(from, options); };
    return with_store(threads, options.at, work);
}

}  // namespace cairn::program
