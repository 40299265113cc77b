#include "engines/sqlite/writer.hpp"

#include "engines/sqlite/schema.hpp"
#include "runtime/deadline.hpp"
#include "runtime/log.hpp"
#include "runtime/run_on.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <sqlite3.h>
#include <utility>

namespace cairn::sqlite {
namespace {

// In pages of 8 KiB. A batch adds at most about 16 MiB, so the log stays under 64 MiB.
constexpr int passive_pages = 2000;  // 16 MiB: the copy is short and the disk is not idle meanwhile
constexpr int retry_pages = 250;  // what stood in its way is gone by then; little is left to copy
constexpr int restart_pages = 5000;      // 40 MiB
constexpr int unsynced_pages_max = 500;  // 4 MiB
constexpr int write_back_pages = 50;

constexpr group_commit_limits writer_limits{
    .queue_entries = 4096, .batch_entries = 1024, .batch_bytes = 4 << 20};

std::size_t bytes_of(const change& what) {
    constexpr std::size_t row_bytes = 256;
    const auto* put = std::get_if<put_blob>(&what);
    const auto* sealed = std::get_if<seal_segment>(&what);
    return row_bytes + (put != nullptr ? put->value.size() : 0) +
           (sealed != nullptr ? sealed->found.size() * row_bytes : 0);
}

// A segment is opened for a put only where there is more room than the reserve takes.
bool grows_the_store(const change& what) { return std::holds_alternative<put_blob>(what); }

}  // namespace

writer::writer(reserve kept, database connection, gate& readers, fail_stop& stop)
    : reserve_(std::move(kept)),
      connection_(std::move(connection)),
      readers_(readers),
      stop_(stop),
      checkpoint_at_pages_(passive_pages),
      queue_(
          "sqlite writer",
          thread_.get_executor(),
          stop,
          [this](std::span<queue::entry> batch) { return step(batch); },
          writer_limits,
          bytes_of) {}

result<std::unique_ptr<writer>> writer::open(const std::filesystem::path& path,
                                             gate& readers,
                                             fail_stop& stop,
                                             std::uint64_t boot_known) {
    reserve kept(path);  // gives up what is there, so that a full disk is no reason not to start
    auto connection = database::open(path, role::writer);
    if (!connection) return connection.error();
    std::unique_ptr<writer> made(
        new writer(std::move(kept), std::move(*connection), readers, stop));
    if (auto ok = made->start(boot_known); !ok) return ok.error();
    made->log_write_back_ = write_back(path.string() + "-wal");
    return made;
}

result<void> writer::start(std::uint64_t boot_known) {
    if (auto ok = prepare_schema(connection_); !ok) return ok.error();
    // Before anything is raised: a copy that is refused must be refused again the next time.
    const auto last = last_boot(connection_);
    if (!last) return last.error();
    if (*last < boot_known) return errc::restored_copy;
    const auto durable = checkpoint(checkpoint_kind::truncate);
    if (!durable) return durable.error();
    if (!*durable) return error_from(SQLITE_BUSY);
    auto boot = raise_boot(connection_);
    if (!boot) return boot.error();
    boot_ = *boot;
    auto name = sqlite::incarnation(connection_);
    if (!name) return name.error();
    incarnation_ = std::move(*name);
    auto prepared = transaction::prepare(connection_, boot_);
    if (!prepared) return prepared.error();
    transaction_.emplace(std::move(*prepared));
    return {};
}

awaitable<result<void>> writer::copy_to(std::filesystem::path to, std::uint64_t size_bytes_max) {
    try {
        co_return co_await copy_pieces(to, size_bytes_max);
    } catch (...) {
        // Given up: as long as it stands, each commit is written to it as well.
        asio::post(thread_.get_executor(), [this] { copy_.reset(); });
        throw;
    }
}

// The caller waits between the pieces, so that the writer's thread gives the copy a fifth of its
// time and changes wait for one piece at most.
awaitable<result<void>> writer::copy_pieces(const std::filesystem::path& to,
                                            std::uint64_t size_bytes_max) {
    using clock = std::chrono::steady_clock;
    auto begun = co_await run_on(thread_.get_executor(), begin_copy(to, size_bytes_max));
    while (begun) {
        const auto began_at = clock::now();
        auto more = co_await run_on(thread_.get_executor(), continue_copy());
        if (!more) co_return more.error();
        if (!*more) break;
        co_await sleep_for(4 * (clock::now() - began_at));
    }
    co_return begun;
}

awaitable<result<void>> writer::begin_copy(const std::filesystem::path& to,
                                           std::uint64_t size_bytes_max) {
    if (auto running = stop_.check(); !running) co_return running.error();
    const auto size_bytes = connection_.size_bytes();
    if (!size_bytes) co_return size_bytes.error();
    if (*size_bytes > size_bytes_max) co_return error_code(errc::no_space);
    auto begun = page_copy::begin(connection_, to);
    if (!begun) co_return begun.error();
    copy_.emplace(std::move(*begun));
    co_return result<void>();
}

awaitable<result<bool>> writer::continue_copy() {
    constexpr int pages_at_once = 256;  // 2 MiB: some milliseconds
    if (auto running = stop_.check(); !running) co_return failed_bool(running.error());
    auto more = copy_->step(pages_at_once);
    if (!more || !*more) copy_.reset();
    co_return more;
}

awaitable<void> writer::close() {
    co_await queue_.close();
    co_await run_on(thread_.get_executor(), last_checkpoint());
}

awaitable<void> writer::last_checkpoint() {
    copy_.reset();
    if (stop_.tripped()) co_return;  // it could make durable what nobody was told
    const auto done = checkpoint(checkpoint_kind::truncate);
    if (!done) log_warn("sqlite", "last checkpoint failed: {}", done.error().message());
}

awaitable<outcome> writer::step(std::span<queue::entry> batch) {
    (void)reserve_.take();
    checkpoint_if_due();
    if (stop_.tripped()) co_return outcome::unknown;
    co_return commit_batch(batch);
}

// A batch that finds the disk full runs once more with what was kept back, without its puts.
outcome writer::commit_batch(std::span<queue::entry> batch) {
    const outcome ended = try_batch(batch);
    const bool is_full =
        ended == outcome::untouched && batch.front().reply.error() == errc::no_space;
    if (!is_full || !reserve_.give_up()) return ended;
    log_warn("sqlite", "the disk is full: puts are refused until there is room again");
    return try_batch(batch);
}

outcome writer::try_batch(std::span<queue::entry> batch) {
    const bool needs_sync = wants_sync(batch);
    if (auto ok = connection_.sync_commits(needs_sync); !ok) return undo(batch, ok.error());
    const auto prepared = apply_batch(batch);
    if (!prepared) return undo(batch, prepared.error());
    const auto committed = transaction_->commit();
    if (!committed) return after_failed_commit(batch, committed.error());
    note_commit(needs_sync);
    for (auto& each : batch) {
        if (!each.reply) continue;
        log_.note(each.request);
        each.reply->freed = transaction_->freed();
    }
    return outcome::committed;
}

// What is not synced is kept short: a checkpoint would have to sync all of it at once, and
// everybody would wait for that.
bool writer::wants_sync(std::span<const queue::entry> batch) {
    const int pages = connection_.wal_pages();
    synced_pages_ = std::min(synced_pages_, pages);  // the log may have begun anew
    const auto in_log = [this](const queue::entry& each) { return log_.hold(each.request); };
    return pages - synced_pages_ >= unsynced_pages_max ||
           !std::all_of(batch.begin(), batch.end(), in_log);
}

void writer::note_commit(bool synced) {
    const int pages = connection_.wal_pages();
    if (synced) synced_pages_ = begun_pages_ = pages;
    begun_pages_ = std::min(begun_pages_, pages);
    if (pages - begun_pages_ < write_back_pages) return;
    log_write_back_.begin();
    begun_pages_ = pages;
}

result<void> writer::apply_batch(std::span<queue::entry> batch) {
    if (auto ok = transaction_->begin(); !ok) return ok.error();
    for (auto& each : batch) {
        if (!reserve_.held() && grows_the_store(each.request)) {
            each.reply = error_code(errc::no_space);
            continue;
        }
        each.reply = transaction_->apply(each.request);
        if (!each.reply) return each.reply.error();
    }
    return transaction_->settle();
}

outcome writer::undo(std::span<queue::entry> batch, const error_code& why) {
    if (is_failed_sync(why)) return stop_for(why, "sqlite statement");
    if (!transaction_->rollback()) return stop_for(why, "sqlite rollback");
    for (auto& each : batch) each.reply = why;
    return outcome::untouched;
}

// The frames of a failed COMMIT may be durable nevertheless, so only a full disk, which SQLite
// notices before it writes the commit frame, means that nothing happened (SAFETY.md R6.2).
outcome writer::after_failed_commit(std::span<queue::entry> batch, const error_code& why) {
    const int number = connection_.system_errno();
    const bool write_found_no_space =
        why == error_from(SQLITE_IOERR_WRITE) && (number == ENOSPC || number == EDQUOT);
    if (why == errc::no_space) return undo(batch, why);
    if (write_found_no_space) return undo(batch, errc::no_space);
    return stop_for(why, "sqlite commit");
}

void writer::checkpoint_if_due() {
    // Without the reserve each batch may be the one that the log has no room for.
    if (reserve_.held() && connection_.wal_pages() < checkpoint_at_pages_) return;
    const bool is_long = connection_.wal_pages() >= restart_pages;
    auto done = checkpoint(checkpoint_kind::passive);
    if (done && is_long) {
        const gate::closed nobody_reads(readers_);
        done = checkpoint(checkpoint_kind::restart);
    }
    if (!done && done.error() != errc::no_space) stop_for(done.error(), "sqlite checkpoint");
}

result<bool> writer::checkpoint(checkpoint_kind kind) {
    const auto progress = connection_.checkpoint(kind);
    if (!progress) return failed_bool(progress.error());
    const bool complete = progress->is_complete();
    // A complete log starts anew at the next commit, unless a reader stands in it: then it goes on.
    // Tried again soon: the longer the log, the longer everybody waits for its copying.
    checkpoint_at_pages_ = complete ? passive_pages : connection_.wal_pages() + retry_pages;
    return complete;
}

outcome writer::stop_for(const error_code& why, const char* where) {
    stop_.trip(why, where);
    return outcome::unknown;
}

}  // namespace cairn::sqlite
