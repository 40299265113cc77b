#include "engines/postgres/commit_batch.hpp"

#include "engines/postgres/stored_row.hpp"
#include "runtime/check.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cairn::postgres {
namespace {

constexpr statement put_many{
    "put_many",
    "WITH won AS (INSERT INTO cairn.blobs(id, size, created_at, checksums, value)"
    " SELECT u.id, u.size, s.at, u.checksums, u.value"
    " FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bytea[])"
    " AS u(id, size, checksums, value), (SELECT cairn.now_us() AS at OFFSET 0) AS s"
    " ON CONFLICT (id) DO NOTHING RETURNING id, size),"
    " counted AS (SELECT count(*) AS blobs, coalesce(sum(size), 0)::bigint AS bytes FROM won),"
    " noted AS (UPDATE cairn.totals t SET blobs = t.blobs + c.blobs, bytes = t.bytes + c.bytes,"
    " used_at = cairn.now_us() FROM counted c"
    " WHERE t.boot = $5::bigint AND t.lane = $6::bigint)"
    " SELECT id FROM won"};
constexpr statement put_one{
    "put_one",
    "SELECT changed, freed, (standing).id, (standing).seq, (standing).size,"
    " (standing).created_at, (standing).checksums, (standing).container, (standing).start,"
    " (standing).length FROM cairn.put_blob($1::bigint, $2::bigint, $3::bytea, $4::bigint,"
    " $5::bigint, $6::bytea, $7::bigint, $8::bigint, $9::bigint, $10)"};
constexpr statement remove_one{
    "remove_one",
    "SELECT changed, freed FROM cairn.remove_blob($1::bigint, $2::bigint, $3::bytea,"
    " $4::bytea)"};
constexpr statement move_one{
    "move_one",
    "SELECT changed, freed FROM cairn.move_blob($1::bytea, $2::bigint, $3::bigint, $4::bigint,"
    " $5::bigint, $6::bigint, $7::bigint, $8)"};
constexpr statement forget_operations{
    "forget_operations", "DELETE FROM cairn.operations WHERE id >= $1::bytea AND id < $2::bytea"};
constexpr statement quarantine_one{
    "quarantine_one",
    "SELECT cairn.quarantine_blob($1::bytea, $2::bigint, $3::bigint, $4::bigint, $5::bytea,"
    " $6::text), false"};
constexpr statement open_one{
    "open_one",
    "WITH made AS (INSERT INTO cairn.segments(segment, boot) VALUES ($1::bigint, $2::bigint)"
    " ON CONFLICT DO NOTHING) SELECT true, false"};
constexpr statement seal_one{"seal_one",
                             "SELECT changed, freed FROM cairn.seal_segment($1::bigint)"};
constexpr statement forget_one{
    "forget_one", "SELECT cairn.forget_bytes($1::bigint, $2::bigint, $3::bigint), false"};

// A row of more is sent alone: fat arrays are copied several times on their way (LIMITS.md C).
constexpr std::size_t small_value_bytes = 16 << 10;

bool is_small_put(const change& what) {
    const auto* put = std::get_if<put_blob>(&what);
    return put != nullptr && !put->where && put->value.size() <= small_value_bytes;
}

// Where a change stands in the order of its batch: its phase, its blob, and its place there.
using rank = std::tuple<int, blob_id, int>;

rank rank_of(const change& what) {
    return std::visit(
        [](const auto& each) -> rank {
            using type = std::decay_t<decltype(each)>;
            if constexpr (std::is_same_v<type, open_segment>) return {0, {}, 0};
            if constexpr (std::is_same_v<type, put_blob>) return {1, each.id, 0};
            if constexpr (std::is_same_v<type, quarantine_blob>) return {1, each.id, 1};
            if constexpr (std::is_same_v<type, remove_blob>) return {1, each.id, 2};
            if constexpr (std::is_same_v<type, move_blob>) return {1, each.id, 3};
            return {2, {}, 0};
        },
        what);
}

const put_blob& put_in(const change& what) { return std::get<put_blob>(what); }

// The key of an operation: big-endian, so that those of a lane lie together and in order.
class operation_id {
public:
    operation_id(std::int64_t boot, std::int64_t lane, std::uint64_t batch, std::uint64_t entry) {
        const std::uint64_t parts[] = {unsigned_of(boot), unsigned_of(lane), batch, entry};
        std::size_t at = 0;
        for (const std::uint64_t part : parts) {
            for (int shift = 56; shift >= 0; shift -= 8) {
                bytes_[at++] = static_cast<std::byte>(part >> shift);
            }
        }
    }
    byte_view view() const noexcept { return bytes_; }

private:
    std::array<std::byte, 32> bytes_{};
};

}  // namespace

commit_batch::commit_batch(const origin& from,
                           std::span<entry> entries,
                           std::span<const std::optional<buffer>> bad_values)
    : boot_(signed_of(from.boot)),
      lane_(signed_of(from.lane)),
      number_(from.number),
      first_entry_(from.first_entry),
      entries_(entries),
      bad_values_(bad_values) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        (is_small_put(entries_[i].request) ? many_ : singles_).push_back(i);
    }
    const auto id_of = [this](std::size_t i) { return put_in(entries_[i].request).id; };
    std::ranges::stable_sort(many_, {}, id_of);
    std::vector<std::size_t> once;
    for (const std::size_t i : many_) {
        const bool again = !once.empty() && id_of(once.back()) == id_of(i);
        (again ? undecided_ : once).push_back(i);
    }
    many_ = std::move(once);
    std::ranges::stable_sort(singles_, {},
                             [this](std::size_t i) { return rank_of(entries_[i].request); });
}

bool commit_batch::removes() const {
    return std::ranges::any_of(singles_, [this](std::size_t i) {
        return std::holds_alternative<remove_blob>(entries_[i].request);
    });
}

void commit_batch::add_to(segment& work) const {
    if (!many_.empty()) add_many(work);
    for (const std::size_t i : singles_) add_single(work, i);
    if (!removes()) return;
    const operation_id first(boot_, lane_, 0, 0), mine(boot_, lane_, number_, 0);
    parameters with;
    with.add(first.view()).add(mine.view());
    work.add(forget_operations, std::move(with));
}

void commit_batch::read(const answers& done) {
    std::size_t at = 0;
    if (!many_.empty()) read_many(done[at++]);
    for (const std::size_t i : singles_) read_single(done[at++], i);
}

void commit_batch::add_undecided_to(segment& work) const {
    for (const std::size_t i : undecided_) add_single(work, i);
}

void commit_batch::read_undecided(const answers& done) {
    for (std::size_t at = 0; at < undecided_.size(); ++at) read_single(done[at], undecided_[at]);
}

void commit_batch::fail_undecided(const error_code& why) {
    for (const std::size_t i : undecided_) entries_[i].reply = why;
}

void commit_batch::add_many(segment& work) const {
    std::vector<std::optional<byte_view>> ids, values;
    std::vector<std::int64_t> sizes, checks;
    for (const std::size_t i : many_) {
        const put_blob& put = put_in(entries_[i].request);
        ids.emplace_back(put.id.view());
        sizes.push_back(signed_of(put.size_bytes));
        checks.push_back(signed_of(put.checksums_digest));
        values.emplace_back(put.value.view());
    }
    parameters with;
    with.add(std::span<const std::optional<byte_view>>(ids))
        .add(std::span<const std::int64_t>(sizes))
        .add(std::span<const std::int64_t>(checks))
        .add(std::span<const std::optional<byte_view>>(values))
        .add(boot_)
        .add(lane_);
    work.add(put_many, std::move(with));
}

void commit_batch::add_single(segment& work, std::size_t index) const {
    parameters with;
    const auto add = [&](const auto& each) {
        using type = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<type, put_blob>) {
            with.add(boot_).add(lane_).add(each.id.view()).add(signed_of(each.size_bytes));
            with.add(signed_of(each.checksums_digest));
            if (each.where) {
                with.add_null();
            } else {
                with.add(each.value);
            }
            add_locator(with, each.where);
            with.add(each.alone);
            work.add(put_one, std::move(with));
        } else if constexpr (std::is_same_v<type, remove_blob>) {
            const operation_id operation(boot_, lane_, number_, first_entry_ + index);
            with.add(boot_).add(lane_).add(each.id.view()).add(operation.view());
            work.add(remove_one, std::move(with));
        } else if constexpr (std::is_same_v<type, move_blob>) {
            with.add(each.id.view());
            add_locator(with, each.from);
            add_locator(with, each.to);
            with.add(each.alone);
            work.add(move_one, std::move(with));
        } else if constexpr (std::is_same_v<type, quarantine_blob>) {
            with.add(each.id.view());
            add_locator(with, each.failed_at);
            if (bad_values_[index]) {
                with.add(*bad_values_[index]);
            } else {
                with.add_null();
            }
            with.add(std::string_view(each.reason));
            work.add(quarantine_one, std::move(with));
        } else if constexpr (std::is_same_v<type, open_segment>) {
            with.add(signed_of(each.segment)).add(boot_);
            work.add(open_one, std::move(with));
        } else if constexpr (std::is_same_v<type, seal_segment>) {
            CAIRN_CHECK(each.found.empty());  // each commit is synced: no segment is replayed
            with.add(signed_of(each.segment));
            work.add(seal_one, std::move(with));
        } else {
            add_locator(with, each.at);
            work.add(forget_one, std::move(with));
        }
    };
    std::visit(add, entries_[index].request);
}

void commit_batch::read_many(const rows& won) {
    std::vector<blob_id> ids;
    ids.reserve(won.size());
    for (std::size_t i = 0; i < won.size(); ++i) ids.push_back(id_at(won, i, 0));
    std::ranges::sort(ids);
    for (const std::size_t i : many_) {
        if (!std::ranges::binary_search(ids, put_in(entries_[i].request).id)) {
            undecided_.push_back(i);
            continue;
        }
        entries_[i].reply = applied{.changed = true, .freed = false, .standing = {}};
    }
    const auto id_of = [this](std::size_t i) { return put_in(entries_[i].request).id; };
    std::ranges::stable_sort(undecided_, {}, id_of);
}

void commit_batch::read_single(const rows& told, std::size_t index) {
    applied done{.changed = told.boolean(0, 0), .freed = false, .standing = {}};
    freed_ = freed_ || told.boolean(0, 1);
    const bool has_lost =
        !done.changed && std::holds_alternative<put_blob>(entries_[index].request);
    if (has_lost) {
        done.standing = row_at(told, 0, 3);
        done.standing->id = id_at(told, 0, 2);
    }
    entries_[index].reply = std::move(done);
}

}  // namespace cairn::postgres
