#include "engines/postgres/look_ups.hpp"

#include "engines/postgres/sql_error.hpp"
#include "engines/postgres/stored_row.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cairn::postgres {
namespace {

constexpr statement find_rows{
    "find_rows",
    "SELECT b.id, b.seq, b.size, b.created_at, b.checksums, b.container, b.start, b.length,"
    " b.value, EXISTS (SELECT FROM cairn.quarantine q WHERE q.id = b.id)"
    " FROM cairn.blobs b WHERE b.id = ANY ($1::bytea[])"};

// A batch's values are in memory together: 64 of at most 64 KiB.
constexpr group_commit_limits batch_limits{.queue_entries = 4096, .batch_entries = 64};

segment query_for(std::span<const std::optional<byte_view>> ids) {
    parameters with;
    with.add(ids);
    return segment(find_rows, std::move(with));
}

error_code blob_error(const error_code& why) {
    return is_damage(why) ? error_code(errc::corrupt) : why;
}

row whole_row_at(const rows& from, std::size_t index) {
    row found = row_at(from, index, 1);
    found.id = id_at(from, index, 0);
    if (!from.is_null(index, 8)) found.value = buffer::copy_of(from.bytes(index, 8));
    found.quarantined = from.boolean(index, 9);
    return found;
}

}  // namespace

look_ups::look_ups(database& in, std::size_t index, fail_stop& stop)
    : in_(in),
      index_(index),
      queue_(
          "postgres look-ups",
          in.reader_home(index),
          stop,
          [this](std::span<queue::entry> batch) { return step(batch); },
          batch_limits) {}

awaitable<outcome> look_ups::step(std::span<queue::entry> batch) {
    std::vector<std::optional<byte_view>> ids;
    ids.reserve(batch.size());
    for (const auto& each : batch) ids.emplace_back(each.request.view());
    segment query = query_for(ids);
    auto answered = co_await in_.read(index_, std::move(query));
    for (auto& each : batch) {
        each.reply = std::optional<row>();
        if (!answered) each.reply = blob_error(answered.error());
    }
    if (!answered) {
        co_return is_of_the_data(answered.error()) ? outcome::untouched : outcome::committed;
    }
    const rows& found = answered->at(0);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const row each = whole_row_at(found, i);
        for (auto& asked : batch) {
            if (asked.request == each.id) asked.reply = each;
        }
    }
    co_return outcome::committed;
}

awaitable<result<std::optional<row>>> find_one(database& in, blob_id id) {
    const std::optional<byte_view> ids[] = {id.view()};
    segment query = query_for(ids);
    auto answered = co_await in.read(database::place_of(id), std::move(query));
    if (!answered) co_return answered.error();
    std::optional<row> found;
    if (!answered->at(0).empty()) found = whole_row_at(answered->at(0), 0);
    co_return found;
}

}  // namespace cairn::postgres
