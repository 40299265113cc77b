#include "engines/segments/replay.hpp"

#include "engines/segments/scan.hpp"
#include "engines/segments/segment_name.hpp"
#include "runtime/log.hpp"

#include <algorithm>
#include <boost/system/errc.hpp>
#include <cstdint>
#include <utility>

namespace cairn {
namespace {

awaitable<result<void>> write_again(std::shared_ptr<file> in, locator at) {
    constexpr std::uint64_t piece_bytes = 1 << 20;
    for (std::uint64_t done = 0; done < at.length_bytes; done += piece_bytes) {
        const std::uint64_t size_bytes = std::min(piece_bytes, at.length_bytes - done);
        auto piece = co_await in->read_at(at.offset + done, size_bytes);
        if (!piece) co_return piece.error();
        if (piece->size() != size_bytes) co_return make_error_code(boost::system::errc::io_error);
        auto written = co_await in->write_at(at.offset + done, std::move(*piece));
        if (!written) co_return written.error();
    }
    co_return result<void>();
}

}  // namespace

awaitable<result<std::vector<put_blob>>> puts_to_replay(std::shared_ptr<file> in,
                                                        segment_row left) {
    const locator end{left.segment, left.end_bytes, 0};
    auto found = co_await scan_segment(in, left.segment, end, SIZE_MAX);
    if (!found) co_return found.error();
    std::vector<put_blob> puts;
    for (const found_record& each : *found) {
        if (each.mark != (left.boot ^ left.replay_key)) continue;
        const auto whole = co_await is_whole(in, each);
        if (!whole) co_return whole.error();
        if (!*whole) {
            log_warn("segments", "{}: the record at {} is not whole and is left out",
                     segment_name(left.segment), each.stored.at.offset);
            continue;
        }
        auto written = co_await write_again(in, each.stored.at);
        if (!written) co_return written.error();
        puts.push_back(put_of(each));
    }
    co_return puts;
}

}  // namespace cairn
