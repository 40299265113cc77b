#include "engines/segments/scan.hpp"

#include "engines/segments/record.hpp"
#include "engines/segments/record_checks.hpp"
#include "engines/segments/segment_name.hpp"
#include "runtime/hash.hpp"

#include <algorithm>
#include <boost/system/errc.hpp>
#include <utility>

namespace cairn {
namespace {

using segment_record::block_bytes;
using segment_record::footer_bytes;

constexpr std::size_t piece_bytes = 1 << 20;

// Footers of the whole blocks in `piece`, which lies at `offset` of the segment.
void collect(byte_view piece,
             std::uint64_t segment,
             std::uint64_t offset,
             const locator& after,
             std::size_t limit,
             std::vector<found_record>& found) {
    for (std::size_t end = block_bytes; end <= piece.size(); end += block_bytes) {
        if (found.size() == limit) return;
        const auto about = segment_record::decode_footer(
            piece.subspan(end - footer_bytes, footer_bytes), segment, offset + end);
        if (about && about->stored.at > after) {
            found.push_back({about->id, about->stored, about->mark});
        }
    }
}

}  // namespace

awaitable<result<std::vector<found_record>>> scan_segment(std::shared_ptr<file> in,
                                                          std::uint64_t segment,
                                                          locator after,
                                                          std::size_t limit) {
    std::vector<found_record> found;
    const std::uint64_t begin = segment == after.container ? after.offset : 0;
    for (std::uint64_t offset = begin; found.size() < limit; offset += piece_bytes) {
        auto piece = co_await in->read_at(offset, piece_bytes);
        if (!piece) co_return piece.error();
        collect(piece->view(), segment, offset, after, limit, found);
        if (piece->size() < piece_bytes) break;
    }
    co_return found;
}

put_blob put_of(const found_record& record) {
    put_blob put;
    put.id = record.id;
    put.size_bytes = record.stored.size_bytes;
    put.checksums_digest = record.stored.checksums_digest;
    put.where = record.stored.at;
    return put;
}

awaitable<result<bool>> is_whole(std::shared_ptr<file> in, found_record record) {
    auto checks = co_await record_checks::load(in, record.stored);
    if (!checks && checks.error() == errc::corrupt) co_return false;
    if (!checks) co_return failed_bool(checks.error());
    const byte_range all{0, record.stored.size_bytes};
    const auto bytes = read_range(std::move(in), std::move(*checks), all);
    sha256 so_far;
    while (true) {
        const auto window = co_await bytes->next();
        if (!window && window.error() == errc::corrupt) co_return false;
        if (!window) co_return failed_bool(window.error());
        if (window->empty()) break;
        so_far.update(window->view());
    }
    co_return so_far.finish() == record.id.bytes;
}

awaitable<result<std::vector<std::uint64_t>>> list_segments(file_system& files,
                                                            std::filesystem::path folder,
                                                            std::uint64_t first) {
    auto names = co_await files.list(std::move(folder));
    if (!names && names.error() == boost::system::errc::no_such_file_or_directory) {
        co_return std::vector<std::uint64_t>();
    }
    if (!names) co_return names.error();
    std::vector<std::uint64_t> numbers;
    for (const std::string& name : *names) {
        const auto number = segment_of(name);
        if (number && *number >= first) numbers.push_back(*number);
    }
    std::sort(numbers.begin(), numbers.end());
    co_return numbers;
}

awaitable<result<std::vector<found_record>>> scan_segments(file_system& files,
                                                           std::filesystem::path folder,
                                                           locator after,
                                                           std::uint64_t last_segment,
                                                           std::size_t limit) {
    auto numbers = co_await list_segments(files, folder, after.container);
    if (!numbers) co_return numbers.error();
    std::vector<found_record> found;
    for (const std::uint64_t segment : *numbers) {
        if (found.size() == limit || segment > last_segment) break;
        auto in = co_await files.open(folder / segment_name(segment), open_mode::read);
        if (!in) co_return in.error();
        const std::size_t room = limit - found.size();
        auto scanned = co_await scan_segment(std::move(*in), segment, after, room);
        if (!scanned) co_return scanned.error();
        found.insert(found.end(), scanned->begin(), scanned->end());
    }
    co_return found;
}

}  // namespace cairn
