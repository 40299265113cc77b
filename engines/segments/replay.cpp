#include "engines/segments/replay.hpp"

#include "engines/segments/scan.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

namespace cairn {
namespace {

// From the front, and of those that begin together the longest first: so a record comes before what
// its body holds.
bool comes_before(const found_record& one, const found_record& other) noexcept {
    const auto key = [](const locator& at) {
        return std::tuple(at.offset, UINT64_MAX - at.length_bytes);
    };
    return key(one.stored.at) < key(other.stored.at);
}

}  // namespace

awaitable<result<std::vector<put_blob>>> puts_to_replay(std::shared_ptr<file> in,
                                                        segment_row left) {
    const locator end{left.segment, left.end_bytes, 0};
    auto found = co_await scan_segment(in, left.segment, end, SIZE_MAX);
    if (!found) co_return found.error();
    std::sort(found->begin(), found->end(), comes_before);
    std::vector<put_blob> puts;
    std::uint64_t taken_until = left.end_bytes;
    for (const found_record& each : *found) {
        const locator& at = each.stored.at;
        if (at.offset < taken_until) continue;
        const auto whole = co_await is_whole(in, each);
        if (!whole) co_return whole.error();
        if (!*whole) continue;
        puts.push_back(put_of(each));
        taken_until = at.offset + at.length_bytes;
    }
    co_return puts;
}

}  // namespace cairn
