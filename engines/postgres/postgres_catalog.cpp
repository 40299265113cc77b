#include "engines/postgres/postgres_catalog.hpp"

#include "engines/postgres/status_details.hpp"
#include "engines/postgres/stored_row.hpp"

#include <boost/asio/this_coro.hpp>
#include <utility>

namespace cairn {

using namespace postgres;

namespace {

constexpr statement first_page{
    "first_page",
    "SELECT id, seq, size, created_at, checksums, container, start, length FROM cairn.blobs b"
    " WHERE NOT EXISTS (SELECT FROM cairn.quarantine q WHERE q.id = b.id)"
    " ORDER BY id LIMIT $1::bigint"};
constexpr statement next_page{
    "next_page",
    "SELECT id, seq, size, created_at, checksums, container, start, length FROM cairn.blobs b"
    " WHERE id > $2::bytea AND NOT EXISTS (SELECT FROM cairn.quarantine q WHERE q.id = b.id)"
    " ORDER BY id LIMIT $1::bigint"};
constexpr statement due{
    "due",
    "SELECT container, start, length FROM cairn.reclaim WHERE not_before <= cairn.now_us()"
    " ORDER BY not_before LIMIT $1::bigint"};
// An unsigned number is in the order of its sign first.
constexpr statement list_segments{
    "list_segments",
    "SELECT segment, boot, sealed, end_bytes, live_bytes FROM cairn.segments"
    " WHERE segment > $1::bigint AND (NOT sealed OR NOT $2) ORDER BY segment LIMIT $3::bigint"};
constexpr statement count_all{
    "count_all",
    "SELECT (SELECT sum(blobs)::bigint FROM cairn.totals),"
    " (SELECT sum(bytes)::bigint FROM cairn.totals), count(*),"
    " coalesce(sum(end_bytes), 0)::bigint, coalesce(sum(live_bytes), 0)::bigint,"
    " (SELECT count(*) FROM cairn.reclaim WHERE not_before <= cairn.now_us()),"
    " (SELECT count(*) FROM cairn.quarantine) FROM cairn.segments"};

std::int64_t limit_of(std::size_t limit) noexcept { return static_cast<std::int64_t>(limit); }

}  // namespace

postgres_catalog::postgres_catalog(database& in, fail_stop& stop) : in_(in), writer_(in, stop) {
    for (std::size_t i = 0; i < in.reader_count(); ++i) {
        look_ups_.push_back(std::make_unique<look_ups>(in, i, stop));
    }
}

postgres_catalog::~postgres_catalog() = default;

group_commit_counts postgres_catalog::look_up_counts() const noexcept {
    group_commit_counts sum;
    for (const auto& each : look_ups_) sum += each->counts();
    return sum;
}

// The reader on the caller's own thread, which spares two wake-ups; without one, the blob's.
std::size_t postgres_catalog::reader_for(const executor& here, const blob_id& id) const {
    for (std::size_t i = 0; i < look_ups_.size(); ++i) {
        if (in_.reader_home(i) == here) return i;
    }
    return database::place_of(id) % look_ups_.size();
}

awaitable<result<std::optional<row>>> postgres_catalog::find(blob_id id) {
    const executor here = co_await asio::this_coro::executor;
    co_return co_await look_ups_[reader_for(here, id)]->find(id);
}

awaitable<result<void>> postgres_catalog::confirm() {
    if (!in_.replicated()) co_return result<void>();
    auto confirmed = co_await writer_.confirm();
    if (!confirmed) co_return confirmed.error();
    co_return result<void>();
}

awaitable<result<std::vector<row>>> postgres_catalog::list(std::optional<blob_id> after,
                                                           std::size_t limit) {
    parameters with;
    with.add(limit_of(limit));
    if (after) with.add(after->view());
    segment query(after ? next_page : first_page, std::move(with));
    auto answered = co_await in_.read(0, std::move(query));
    if (!answered) co_return answered.error();
    const rows& page = answered->at(0);
    std::vector<row> found;
    found.reserve(page.size());
    for (std::size_t i = 0; i < page.size(); ++i) {
        found.push_back(row_at(page, i, 1));
        found.back().id = id_at(page, i, 0);
    }
    co_return found;
}

awaitable<result<std::vector<locator>>> postgres_catalog::reclaimable(std::size_t limit) {
    parameters with;
    with.add(limit_of(limit));
    segment query(due, std::move(with));
    auto answered = co_await in_.read(0, std::move(query));
    if (!answered) co_return answered.error();
    std::vector<locator> found;
    for (std::size_t i = 0; i < answered->at(0).size(); ++i) {
        found.push_back(*locator_at(answered->at(0), i, 0));
    }
    co_return found;
}

awaitable<result<std::vector<segment_row>>> postgres_catalog::segments(std::uint64_t after,
                                                                       std::size_t limit,
                                                                       bool only_unsealed) {
    parameters with;
    with.add(signed_of(after)).add(only_unsealed).add(limit_of(limit));
    segment query(list_segments, std::move(with));
    auto answered = co_await in_.read(0, std::move(query));
    if (!answered) co_return answered.error();
    const rows& page = answered->at(0);
    std::vector<segment_row> found;
    for (std::size_t i = 0; i < page.size(); ++i) {
        found.push_back({unsigned_of(page.integer(i, 0)), unsigned_of(page.integer(i, 1)),
                         page.boolean(i, 2), unsigned_of(page.integer(i, 3)),
                         unsigned_of(page.integer(i, 4))});
    }
    co_return found;
}

awaitable<result<catalog_counts>> postgres_catalog::count() {
    segment query(count_all);
    auto answered = co_await in_.read(0, std::move(query));
    if (!answered) co_return answered.error();
    const rows& sums = answered->at(0);
    const auto number = [&sums](std::size_t column) {
        return unsigned_of(sums.integer(0, column));
    };
    catalog_counts counts;
    counts.blob_count = number(0);
    counts.blob_bytes = number(1);
    counts.segment_count = number(2);
    counts.end_bytes = number(3);
    counts.live_bytes = number(4);
    counts.reclaim_count = number(5);
    counts.quarantined_count = number(6);
    co_return counts;
}

awaitable<result<std::vector<status_detail>>> postgres_catalog::details() {
    return status_details(in_, {commit_counts(), look_up_counts()});
}

awaitable<void> postgres_catalog::close() {
    co_await writer_.close();
    for (const auto& each : look_ups_) co_await each->close();
    co_await in_.close();
}

}  // namespace cairn
