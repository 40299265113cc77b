#include "engines/sqlite/reader.hpp"

#include <boost/system/errc.hpp>
#include <new>
#include <utility>

namespace cairn::sqlite {
namespace {

// A batch holds its snapshot for as long as its look-ups take, a few microseconds each.
constexpr group_commit_limits reader_limits{
    .queue_entries = 4096, .batch_entries = 256, .batch_bytes = SIZE_MAX};

}  // namespace

reader::reader(database connection, gate& writer_gate, fail_stop& stop)
    : connection_(std::move(connection)),
      gate_(writer_gate),
      queue_(
          "sqlite reader",
          thread_.get_executor(),
          stop,
          [this](std::span<queue::entry> batch) { return step(batch); },
          reader_limits) {}

result<std::unique_ptr<reader>> reader::open(const std::filesystem::path& path,
                                             gate& writer_gate,
                                             fail_stop& stop) {
    auto connection = database::open(path, role::reader);
    if (!connection) return connection.error();
    std::unique_ptr<reader> made(new reader(std::move(*connection), writer_gate, stop));
    auto rows = row_reader::prepare(made->connection_);
    if (!rows) return rows.error();
    auto begin = made->connection_.prepare("BEGIN");
    if (!begin) return begin.error();
    auto end = made->connection_.prepare("COMMIT");
    if (!end) return end.error();
    made->rows_ = std::move(*rows);
    made->begin_ = std::move(*begin);
    made->end_ = std::move(*end);
    return made;
}

awaitable<result<void>> reader::run(look_up call) {
    auto done = co_await queue_.submit(std::move(call));
    if (!done) co_return done.error();
    co_return result<void>();
}

awaitable<void> reader::close() { return queue_.close(); }

awaitable<outcome> reader::step(std::span<queue::entry> batch) {
    const gate::pass inside(gate_);
    const auto answered = answer(batch);
    for (auto& each : batch) {
        if (answered) {
            each.reply = std::monostate();
        } else {
            each.reply = answered.error();
        }
    }
    co_return outcome::committed;  // a look-up changes nothing, so nothing can be unknown
}

result<void> reader::answer(std::span<queue::entry> batch) {
    if (auto ok = begin_.run(); !ok) return ok.error();
    const auto done = look_up_all(batch);
    if (auto ok = end_.run(); !ok) return ok.error();
    return done;
}

// A look-up that finds no memory is no reason to stop the store, as a step that throws would be.
result<void> reader::look_up_all(std::span<queue::entry> batch) {
    try {
        for (auto& each : batch) each.request(rows_);
        return {};
    } catch (const std::bad_alloc&) {
        return make_error_code(boost::system::errc::not_enough_memory);
    }
}

}  // namespace cairn::sqlite
