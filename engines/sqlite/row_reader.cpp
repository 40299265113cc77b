#include "engines/sqlite/row_reader.hpp"

#include <cstring>
#include <utility>

namespace cairn::sqlite {
namespace {

#define CAIRN_ROW_COLUMNS "seq, id, size, created_at, container, offset, length, checksums"

// By way of seq, so that the id comes from the row and not from the index entry that led to it: an
// entry that rots may lead to another blob's row, whose bytes are good and are not what was asked.
constexpr const char* find_sql =
    "SELECT " CAIRN_ROW_COLUMNS
    ", value, EXISTS (SELECT 1 FROM quarantine WHERE quarantine.id = ?1)"
    " FROM blobs WHERE seq = (SELECT seq FROM blobs WHERE id = ?1)";
constexpr const char* first_page_sql =
    "SELECT " CAIRN_ROW_COLUMNS
    " FROM blobs WHERE id NOT IN (SELECT id FROM quarantine) ORDER BY id LIMIT ?1";
constexpr const char* next_page_sql =
    "SELECT " CAIRN_ROW_COLUMNS
    " FROM blobs WHERE id > ?2 AND id NOT IN (SELECT id FROM quarantine) ORDER BY id LIMIT ?1";
constexpr const char* reclaimable_sql = "SELECT container, offset, length FROM reclaim LIMIT ?1";
constexpr const char* segments_sql =
    "SELECT segment, boot, sealed, end_bytes, live_bytes, replay_key FROM segments"
    " WHERE segment > ?1 ORDER BY segment LIMIT ?2";
constexpr const char* unsealed_sql =
    "SELECT segment, boot, sealed, end_bytes, live_bytes, replay_key FROM segments"
    " WHERE segment > ?1 AND sealed = 0 ORDER BY segment LIMIT ?2";
constexpr const char* count_sql =
    "SELECT (SELECT sum(blobs) FROM totals), (SELECT sum(bytes) FROM totals),"
    " count(*), coalesce(sum(end_bytes), 0), coalesce(sum(live_bytes), 0),"
    " (SELECT count(*) FROM reclaim), (SELECT count(*) FROM quarantine) FROM segments";

#undef CAIRN_ROW_COLUMNS

std::uint64_t unsigned_of(const statement& from, int column) noexcept {
    return static_cast<std::uint64_t>(from.integer(column));
}

locator locator_at(const statement& from, int column) noexcept {
    return {unsigned_of(from, column), unsigned_of(from, column + 1),
            unsigned_of(from, column + 2)};
}

// errc::corrupt when the id has not 32 bytes: the file was changed behind our back.
result<row> row_at(const statement& from) {
    row found;
    found.seq = unsigned_of(from, 0);
    const byte_view id = from.bytes(1);
    if (id.size() != found.id.bytes.size()) return errc::corrupt;
    std::memcpy(found.id.bytes.data(), id.data(), id.size());
    found.size_bytes = unsigned_of(from, 2);
    found.created_at_us = from.integer(3);
    if (!from.is_null(4)) found.where = locator_at(from, 4);
    found.checksums_digest = unsigned_of(from, 7);
    return found;
}

result<segment_row> segment_at(const statement& from) {
    return segment_row{unsigned_of(from, 0), unsigned_of(from, 1), from.integer(2) != 0,
                       unsigned_of(from, 3), unsigned_of(from, 4), unsigned_of(from, 5)};
}

result<locator> reclaim_at(const statement& from) { return locator_at(from, 0); }

std::int64_t limit_of(std::size_t limit) noexcept { return static_cast<std::int64_t>(limit); }

// Every row of the query as `read` sees it.
template <class T>
result<std::vector<T>> all_of(statement& query, result<T> (*read)(const statement&)) {
    const reset_guard reset(query);
    std::vector<T> list;
    while (true) {
        auto more = query.step();
        if (!more) return more.error();
        if (!*more) return list;
        auto next = read(query);
        if (!next) return next.error();
        list.push_back(std::move(*next));
    }
}

}  // namespace

result<row_reader> row_reader::prepare(database& connection) {
    row_reader made;
    const auto add = [&connection](statement& slot, const char* sql) -> result<void> {
        auto prepared = connection.prepare(sql);
        if (!prepared) return prepared.error();
        slot = std::move(*prepared);
        return {};
    };
    if (auto ok = add(made.find_, find_sql); !ok) return ok.error();
    if (auto ok = add(made.first_page_, first_page_sql); !ok) return ok.error();
    if (auto ok = add(made.next_page_, next_page_sql); !ok) return ok.error();
    if (auto ok = add(made.reclaimable_, reclaimable_sql); !ok) return ok.error();
    if (auto ok = add(made.segments_, segments_sql); !ok) return ok.error();
    if (auto ok = add(made.unsealed_, unsealed_sql); !ok) return ok.error();
    if (auto ok = add(made.count_, count_sql); !ok) return ok.error();
    return made;
}

result<std::optional<row>> row_reader::find(const blob_id& id) {
    const reset_guard reset(find_);
    auto more = find_.bind(1, id.view()).step();
    if (!more) return more.error();
    if (!*more) return std::optional<row>();
    auto found = row_at(find_);
    if (!found) return found.error();
    if (found->id != id) return errc::corrupt;
    if (!found->where) found->value = buffer::copy_of(find_.bytes(8));
    found->quarantined = find_.integer(9) != 0;
    return std::optional<row>(std::move(*found));
}

result<std::vector<row>> row_reader::list(const std::optional<blob_id>& after, std::size_t limit) {
    statement& query = after ? next_page_ : first_page_;
    query.bind(1, limit_of(limit));
    if (after) query.bind(2, after->view());
    return all_of(query, row_at);
}

result<std::vector<locator>> row_reader::reclaimable(std::size_t limit) {
    return all_of(reclaimable_.bind(1, limit_of(limit)), reclaim_at);
}

result<std::vector<segment_row>> row_reader::segments(std::uint64_t after,
                                                      std::size_t limit,
                                                      bool only_unsealed) {
    statement& query = only_unsealed ? unsealed_ : segments_;
    query.bind(1, static_cast<std::int64_t>(after)).bind(2, limit_of(limit));
    return all_of(query, segment_at);
}

result<catalog_counts> row_reader::count() {
    const reset_guard reset(count_);
    auto more = count_.step();
    if (!more) return more.error();
    if (!*more) return errc::corrupt;
    return catalog_counts{unsigned_of(count_, 0), unsigned_of(count_, 1), unsigned_of(count_, 2),
                          unsigned_of(count_, 3), unsigned_of(count_, 4), unsigned_of(count_, 5),
                          unsigned_of(count_, 6)};
}

}  // namespace cairn::sqlite
