// cairn stat: tells the sizes of blobs, and which are not there.
#include "http/cairn/location.hpp"
#include "http/cairn/verbs.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace cairn::program {
namespace {

awaitable<int> stat_blobs(store& of, const stat_options& options) {
    int worst = exit_done;
    for (const blob_id& id : options.ids) {
        const auto held = co_await of.hold(id);
        if (!held) {
            complain(id.hex(), held.error());
            worst = std::max(worst, status_of(held.error()));
        } else if (*held) {
            const char* form =
                options.json ? "{\"id\":\"%s\",\"size\":%" PRIu64 "}\n" : "%s %" PRIu64 "\n";
            std::printf(form, id.hex().c_str(), (*held)->size_bytes);
        } else {
            if (options.json) std::printf("{\"id\":\"%s\",\"size\":null}\n", id.hex().c_str());
            complain(id.hex(), errc::absent);
            worst = std::max<int>(worst, exit_refused);
        }
    }
    co_return worst;
}

}  // namespace

int stat(runtime& threads, const stat_options& options) {
    const auto work = [&](store& of) { return stat_blobs(of, options); };
    return with_store(threads, options.at, work);
}

}  // namespace cairn::program
