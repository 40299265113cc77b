#include "engines/sqlite/sqlite_catalog.hpp"

#include "engines/sqlite/catalog_copy.hpp"

#include <chrono>
#include <utility>

namespace cairn {
namespace {

constexpr std::size_t reader_count = 2;

// Runs one call of row_reader on a reader thread and gives its value.
template <class T, class Call>
awaitable<result<T>> ask(sqlite::reader& reader, Call call) {
    result<T> answer = error_code(errc::unanswered);
    sqlite::reader::look_up look_up = [&answer, &call](sqlite::row_reader& rows) {
        answer = call(rows);
    };
    auto done = co_await reader.run(std::move(look_up));
    if (!done) co_return done.error();
    co_return answer;
}

}  // namespace

awaitable<result<std::unique_ptr<sqlite_catalog>>> sqlite_catalog::open(runtime& threads,
                                                                        std::filesystem::path path,
                                                                        fail_stop& stop,
                                                                        std::uint64_t boot_known) {
    std::unique_ptr<sqlite_catalog> made(new sqlite_catalog(threads));
    auto start = [&made, &path, &stop, boot_known] { return made->start(path, stop, boot_known); };
    auto started = co_await threads.pool().run(std::move(start));
    if (!started) co_return started.error();
    co_return made;
}

sqlite_catalog::~sqlite_catalog() = default;

result<void> sqlite_catalog::start(const std::filesystem::path& path,
                                   fail_stop& stop,
                                   std::uint64_t boot_known) {
    // A new file would take the lost one's log with it.
    const bool is_lost = boot_known > 0 && !std::filesystem::exists(path);
    if (is_lost) return errc::absent;
    auto writer = sqlite::writer::open(path, gate_, stop, boot_known);
    if (!writer) return writer.error();
    writer_ = std::move(*writer);
    for (std::size_t i = 0; i < reader_count; ++i) {
        auto reader = sqlite::reader::open(path, gate_, stop);
        if (!reader) return reader.error();
        readers_.push_back(std::move(*reader));
    }
    return {};
}

awaitable<result<applied>> sqlite_catalog::commit(change what) {
    return writer_->commit(std::move(what));
}

awaitable<result<std::optional<row>>> sqlite_catalog::find(blob_id id) {
    sqlite::reader& reader = *readers_[blob_id_hash()(id) % readers_.size()];
    const auto call = [&id](sqlite::row_reader& rows) { return rows.find(id); };
    co_return co_await ask<std::optional<row>>(reader, call);
}

awaitable<result<std::vector<row>>> sqlite_catalog::list(std::optional<blob_id> after,
                                                         std::size_t limit) {
    const auto call = [&after, limit](sqlite::row_reader& rows) { return rows.list(after, limit); };
    co_return co_await ask<std::vector<row>>(*readers_.back(), call);
}

awaitable<result<std::vector<locator>>> sqlite_catalog::reclaimable(std::size_t limit) {
    const auto call = [limit](sqlite::row_reader& rows) { return rows.reclaimable(limit); };
    co_return co_await ask<std::vector<locator>>(*readers_.back(), call);
}

awaitable<result<std::vector<segment_row>>> sqlite_catalog::segments(std::uint64_t after,
                                                                     std::size_t limit,
                                                                     bool only_unsealed) {
    const auto call = [after, limit, only_unsealed](sqlite::row_reader& rows) {
        return rows.segments(after, limit, only_unsealed);
    };
    co_return co_await ask<std::vector<segment_row>>(*readers_.back(), call);
}

awaitable<result<catalog_counts>> sqlite_catalog::count() {
    const auto call = [](sqlite::row_reader& rows) { return rows.count(); };
    co_return co_await ask<catalog_counts>(*readers_.back(), call);
}

awaitable<result<void>> sqlite_catalog::copy_to(std::filesystem::path to,
                                                std::uint64_t size_bytes_max) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t taken_at_us =
        std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    auto copied = co_await writer_->copy_to(to, size_bytes_max);
    if (!copied) co_return copied.error();
    auto finish = [&to, taken_at_us] { return sqlite::finish_copy(to, taken_at_us); };
    co_return co_await threads_.pool().run(std::move(finish));
}

awaitable<void> sqlite_catalog::close() {
    for (auto& each : readers_) co_await each->close();
    readers_.clear();  // before the last checkpoint, which wants the log to itself
    co_await writer_->close();
}

}  // namespace cairn
