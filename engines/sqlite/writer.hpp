// The writer strand: the one SQLite connection and thread that writes and checkpoints.
//
// A batch of changes is one BEGIN IMMEDIATE ... COMMIT, synced unless the log holds all of it
// already (engines/log_commits.hpp). Checkpoints run
// between batches: a passive one each `passive_pages` of new log, and, when the log is long because
// readers stood in its way, one behind a closed gate that lets it start anew. So the log stays
// under 64 MiB. On a full disk puts are refused and removals go on, from a reserve.
#pragma once

#include "engines/catalog.hpp"
#include "engines/log_commits.hpp"
#include "engines/sqlite/database.hpp"
#include "engines/sqlite/gate.hpp"
#include "engines/sqlite/page_copy.hpp"
#include "engines/sqlite/reserve.hpp"
#include "engines/sqlite/transaction.hpp"
#include "engines/sqlite/write_back.hpp"
#include "runtime/group_commit.hpp"
#include "runtime/runtime.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace cairn::sqlite {

class writer {
public:
    // Opens or creates the catalog, completes a checkpoint, so that what is visible is durable also
    // after an unclean stop (SAFETY.md R1.3), and raises the boot. Blocks. `readers` and `stop`
    // outlive it. The errors of prepare_schema() and of SQLite: SQLITE_BUSY, with the boot not
    // raised, when another process reads the log, so that the checkpoint cannot be completed;
    // errc::restored_copy, with the boot not raised, when it is below `boot_known`.
    static result<std::unique_ptr<writer>> open(const std::filesystem::path& path,
                                                gate& readers,
                                                fail_stop& stop,
                                                std::uint64_t boot_known = 0);

    std::uint64_t boot() const noexcept { return boot_; }
    const std::string& incarnation() const noexcept { return incarnation_; }

    // As catalog::commit().
    awaitable<result<applied>> commit(change what) { return queue_.submit(std::move(what)); }

    group_commit_counts counts() const noexcept { return queue_.counts(); }

    // As catalog::copy_to().
    awaitable<result<void>> copy_to(std::filesystem::path to, std::uint64_t size_bytes_max);

    // Drains, then copies the whole log into the database file.
    awaitable<void> close();

private:
    using queue = group_commit<change, applied>;

    writer(reserve kept, database connection, gate& readers, fail_stop& stop);
    result<void> start(std::uint64_t boot_known);
    awaitable<outcome> step(std::span<queue::entry> batch);
    outcome commit_batch(std::span<queue::entry> batch);
    outcome try_batch(std::span<queue::entry> batch);
    bool wants_sync(std::span<const queue::entry> batch);
    void note_commit(bool synced);
    result<void> apply_batch(std::span<queue::entry> batch);
    outcome undo(std::span<queue::entry> batch, const error_code& why);
    outcome after_failed_commit(std::span<queue::entry> batch, const error_code& why);
    void checkpoint_if_due();
    // Whether all of the log is in the database file now: not when another connection stood in its
    // way.
    result<bool> checkpoint(checkpoint_kind kind);
    awaitable<void> last_checkpoint();
    awaitable<result<void>> begin_copy(const std::filesystem::path& to,
                                       std::uint64_t size_bytes_max);
    awaitable<result<bool>> continue_copy();
    awaitable<result<void>> copy_pieces(const std::filesystem::path& to,
                                        std::uint64_t size_bytes_max);
    outcome stop_for(const error_code& why, const char* where);

    reserve reserve_;
    database connection_;
    gate& readers_;
    fail_stop& stop_;
    std::uint64_t boot_ = 0;
    std::string incarnation_;
    std::optional<transaction> transaction_;
    log_commits log_;
    std::optional<page_copy> copy_;  // used on thread_
    int checkpoint_at_pages_;
    write_back log_write_back_;
    int synced_pages_ = 0;  // of the write-ahead log, as far as we know
    int begun_pages_ = 0;   // of them the write-back has begun
    loop_thread thread_{"cairn-writer"};
    queue queue_;
};

}  // namespace cairn::sqlite
