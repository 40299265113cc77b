// cairn ls: lists blobs in the order of their ids.
#include "http/cairn/location.hpp"
#include "http/cairn/verbs.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace cairn::program {
namespace {

constexpr std::uint64_t page_blobs = 10'000;

awaitable<int> list_blobs(store& of, const ls_options& options) {
    const char* form = options.json ? "{\"id\":\"%s\",\"size\":%" PRIu64 "}\n" : "%s %" PRIu64 "\n";
    std::optional<blob_id> after = options.after;
    std::uint64_t left = options.limit;
    while (left > 0) {
        const auto wanted = static_cast<std::size_t>(std::min(left, page_blobs));
        const auto page = co_await of.list(after, wanted);
        if (!page) {
            complain("ls", page.error());
            co_return status_of(page.error());
        }
        for (const listed_blob& blob : *page) {
            std::printf(form, blob.id.hex().c_str(), blob.size_bytes);
        }
        if (page->size() < wanted) break;
        left -= page->size();
        after = page->back().id;
    }
    co_return exit_done;
}

}  // namespace

int ls(runtime& threads, const ls_options& options) {
    const auto work = [&](store& of) { return list_blobs(of, options); };
    return with_store(threads, options.at, work);
}

}  // namespace cairn::program
