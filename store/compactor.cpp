#include "store/compactor.hpp"

#include "engines/segments/segment_name.hpp"
#include "runtime/deadline.hpp"
#include "runtime/log.hpp"
#include "runtime/run_on.hpp"
#include "runtime/side_by_side.hpp"

#include <algorithm>
#include <boost/system/errc.hpp>
#include <new>
#include <utility>

namespace cairn {
namespace {

constexpr std::size_t page_rows = 256;  // of segments
constexpr auto page_pace = std::chrono::milliseconds(10);
constexpr std::size_t segments_at_once = 16;  // then it looks again which are the emptiest

// The body that was read is not the blob; anything else is no word about it.
bool is_no_blob(const error_code& ec) noexcept {
    return ec == errc::corrupt || ec == errc::absent || ec == errc::digest_mismatch ||
           ec == errc::short_body || ec == errc::malformed;
}

using seconds = std::chrono::duration<double>;

bool is_half_dead(const segment_row& each) noexcept {
    return each.sealed && each.live_bytes > 0 && each.live_bytes * 2 <= each.end_bytes;
}

// The emptiest give most for least, and on a full disk they are what there is
// room for.
void keep_emptiest(std::vector<segment_row>& found) {
    std::ranges::sort(found, {}, &segment_row::live_bytes);
    if (found.size() > segments_at_once) found.resize(segments_at_once);
}

// What shares syncs, but not so much that it could not make way soon.
std::size_t group_size(std::span<const found_record> left, std::size_t count_max) {
    constexpr std::uint64_t bytes_max = 8 << 20;
    std::uint64_t bytes = 0;
    std::size_t count = 0;
    while (count < std::min(left.size(), count_max) && bytes < bytes_max) {
        bytes += left[count++].stored.at.length_bytes;
    }
    return count;
}

}  // namespace

compactor::compactor(executor home,
                     metrics& counts,
                     surroundings around,
                     const compaction_options& options)
    : home_(home),
      around_(std::move(around)),
      options_(options),
      emptied_(counts.get_counter("cairn_compaction_segments_total",
                                  "Segments that compaction emptied")),
      moved_(counts.get_counter(
          "cairn_compaction_blobs_total", "Blobs that compaction copied", {{"outcome", "moved"}})),
      gone_(counts.get_counter(
          "cairn_compaction_blobs_total", "Blobs that compaction copied", {{"outcome", "gone"}})),
      copied_bytes_(counts.get_counter("cairn_compaction_copied_bytes_total",
                                       "Bytes that compaction copied")),
      paused_gauge_(counts.add_gauge("cairn_compaction_paused_seconds",
                                     "How long compaction has waited for load to pass",
                                     [this] { return paused_seconds_.load(); })),
      left_alone_gauge_(
          counts.add_gauge("cairn_compaction_left_alone_segments",
                           "Half-dead segments that cannot be emptied: what they hold is bad or "
                           "cannot be read",
                           [this] { return static_cast<double>(left_alone_count_); })),
      scope_(home) {}

awaitable<void> compactor::start() { co_await run_on(home_, start_here()); }

awaitable<void> compactor::start_here() {
    scope_.spawn(run());
    co_return;
}

awaitable<void> compactor::close() {
    closing_.close();
    co_await run_on(home_, scope_.join());
}

awaitable<void> compactor::run() {
    bool found = false;
    while (!around_.stop.tripped()) {
        if (!found) co_await rest(options_.look_every);
        if (closing_.closed()) break;
        found = co_await compact_guarded();
    }
}

awaitable<void> compactor::rest(clock::duration time) {
    const auto until = clock::now() + time;
    (void)co_await before<void>(until, woken());
}

awaitable<result<void>> compactor::woken() {
    (void)co_await closing_.pop();
    co_return result<void>();
}

// Whether there was something to do. After an error it rests, as when there was nothing.
awaitable<bool> compactor::compact_guarded() {
    error_code why;
    try {
        const auto done = co_await compact_some();
        if (done) co_return *done;
        why = done.error();
    } catch (const std::bad_alloc&) {
        why = make_error_code(boost::system::errc::not_enough_memory);
    }
    if (!around_.stop.tripped()) {
        log_warn("compaction", "will be tried again: {}", why.message());
    }
    co_return false;
}

awaitable<result<bool>> compactor::compact_some() {
    const auto chosen = co_await survey();
    if (!chosen) co_return failed_bool(chosen.error());
    for (const segment_row& each : *chosen) {
        if (closing_.closed()) break;
        const auto emptied = co_await empty(each);
        if (!emptied) co_return failed_bool(emptied.error());
    }
    co_return !chosen->empty();
}

// Walks all segments: their number is the store's size over theirs, whatever the blobs are.
awaitable<result<std::vector<segment_row>>> compactor::survey() {
    std::vector<segment_row> chosen;
    std::map<std::uint64_t, std::uint64_t> still_alone;
    std::uint64_t live_bytes = 0, end_bytes = 0, after = 0;
    while (true) {
        const auto page = co_await around_.rows.segments(after, page_rows, false);
        if (!page) co_return page.error();
        for (const segment_row& each : *page) {
            after = each.segment;
            live_bytes += each.live_bytes;
            end_bytes += each.end_bytes;
            if (!is_half_dead(each)) continue;
            if (is_left_alone(each)) {
                still_alone[each.segment] = each.live_bytes;
            } else {
                chosen.push_back(each);
            }
        }
        keep_emptiest(chosen);
        if (page->size() < page_rows || closing_.closed()) break;
        co_await rest(page_pace);
    }
    mostly_dead_ = live_bytes * 2 < end_bytes;
    left_alone_ = std::move(still_alone);
    left_alone_count_ = left_alone_.size();
    co_return chosen;
}

bool compactor::is_left_alone(const segment_row& each) const {
    const auto known = left_alone_.find(each.segment);
    return known != left_alone_.end() && known->second == each.live_bytes;
}

// Copies what lives in it. What is bad there stays; then the segment is left alone until something
// else in it changes.
awaitable<result<void>> compactor::empty(const segment_row& from) {
    const auto moved = co_await move_records(from.segment);
    const bool is_everywhere =
        !moved && (moved.error() == errc::no_space || around_.stop.tripped());
    if (is_everywhere) co_return moved;
    if (!moved) {
        log_warn("compaction", "{} cannot be emptied: {}", segment_name(from.segment),
                 moved.error().message());
    }
    if (closing_.closed()) co_return result<void>();
    co_return co_await settle(from.segment);
}

awaitable<result<void>> compactor::settle(std::uint64_t segment) {
    const auto page = co_await around_.rows.segments(segment - 1, 1, false);
    if (!page) co_return page.error();
    const bool stays = !page->empty() && page->front().segment == segment;
    if (stays && page->front().live_bytes > 0) {
        left_alone_[segment] = page->front().live_bytes;
    } else {
        emptied_.add();
    }
    co_return result<void>();
}

// In groups, and it makes way between them.
awaitable<result<void>> compactor::move_records(std::uint64_t segment) {
    const auto scanned_at = clock::now();
    const locator before_all{segment, 0, 0};
    const auto found = co_await around_.bytes.scan(before_all, segment, SIZE_MAX);
    if (!found) co_return found.error();
    co_await rest_after(scanned_at, 0);
    std::span<const found_record> left(*found);
    while (!left.empty()) {
        const auto clear = co_await make_way();
        if (!clear) co_return clear.error();
        if (closing_.closed()) break;
        const auto began_at = clock::now();
        const auto group = left.first(group_size(left, options_.copies_at_once));
        const auto copied = co_await move_group(group);
        if (!copied) co_return copied.error();
        co_await rest_after(began_at, *copied);
        left = left.subspan(group.size());
    }
    co_return result<void>();
}

// Waits while the store is under load; for what is dead by then it looks again.
awaitable<result<void>> compactor::make_way() {
    while (!mostly_dead_ && around_.feel() == pressure::load) {
        const auto began_at = clock::now();
        co_await rest(options_.pause);
        paused_seconds_ = paused_seconds_ + seconds(clock::now() - began_at).count();
        if (closing_.closed()) break;
        const auto seen = co_await survey();
        if (!seen) co_return seen.error();
    }
    co_return result<void>();
}

awaitable<void> compactor::rest_after(clock::time_point began_at, std::uint64_t copied_bytes) {
    const bool in_haste = mostly_dead_ || around_.feel() == pressure::space;
    const seconds worked = clock::now() - began_at;
    const seconds by_rate = seconds(double(copied_bytes) / options_.bytes_per_second) - worked;
    const seconds by_share = in_haste ? seconds(0) : worked * (1 / options_.time_share - 1);
    const auto time = std::chrono::duration_cast<clock::duration>(std::max(by_rate, by_share));
    if (time.count() > 0) co_await rest(time);
}

// How many bytes were copied.
awaitable<result<std::uint64_t>> compactor::move_group(std::span<const found_record> group) {
    error_code failure;
    std::uint64_t copied_bytes = 0;
    const std::function<awaitable<void>(std::size_t)> move_each =
        [&](std::size_t index) -> awaitable<void> {
        const found_record& record = group[index];
        const auto copied = co_await move_one(record);
        if (copied) copied_bytes += *copied;
        if (!copied && !failure) failure = copied.error();
    };
    co_await side_by_side(group.size(), group.size(), move_each);
    copied_bytes_.add(copied_bytes);
    if (failure) co_return failure;
    co_return copied_bytes;
}

// What is found may be removed, moved or put again, or never have been a blob. The row knows: it is
// asked before the bytes are copied, and again in the transaction that makes them the blob's.
awaitable<result<std::uint64_t>> compactor::move_one(found_record record) {
    auto standing = co_await around_.rows.find(record.id);
    if (!standing) co_return standing.error();
    const bool lives_here =
        *standing && !(*standing)->quarantined && (*standing)->where == record.stored.at;
    if (!lives_here) co_return std::uint64_t{0};
    const auto of = std::make_shared<const row>(std::move(**standing));
    auto copied = co_await copy(of);
    if (!copied) co_return copied.error();
    const std::unique_ptr<draft> bytes = std::move(*copied);
    if (!bytes) co_return std::uint64_t{0};
    const locator& to = bytes->stored().at;
    const row_cache::leaving leaving(around_.cache, of->id);
    const change move = move_blob{of->id, *of->where, to, bytes->alone()};
    const auto done = co_await around_.rows.commit(move);
    if (!done) co_return done.error();
    bytes->decide();
    around_.note(*done);
    (done->changed ? moved_ : gone_).add();
    co_return to.length_bytes;
}

// The bytes at another place, durable; null when they are bad, which is the store's business then.
awaitable<result<std::unique_ptr<draft>>> compactor::copy(row_ptr of) {
    const byte_range whole{0, of->size_bytes};
    auto opened = co_await around_.bytes.read(of->stored(), whole);
    error_code why;
    if (opened) {
        intake body(**opened, of->id, of->size_bytes, intake_for::move);
        auto written = co_await around_.bytes.write(body);
        if (written) co_return std::move(*written);
        why = written.error();
    } else {
        why = opened.error();
    }
    if (!is_no_blob(why)) co_return why;
    const auto judged = co_await around_.suspect(of, why.message());
    if (!judged) co_return judged.error();
    co_return std::unique_ptr<draft>();
}

}  // namespace cairn
