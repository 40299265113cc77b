// SQLite as plain C++: a connection, and statements that reset themselves.
//
// Blocking; one thread at a time. Errors are the extended result codes in their own category,
// except that a full disk is errc::no_space. Text of the failing SQL is not in them: the caller
// names it.
#pragma once

#include "runtime/bytes.hpp"
#include "runtime/result.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace cairn::sqlite {

const boost::system::error_category& category() noexcept;

// A result code that is not SQLITE_OK, SQLITE_ROW or SQLITE_DONE, as an error.
error_code error_from(int code) noexcept;
// The error came from a sync: what was written since the last good one may be gone.
bool is_failed_sync(const error_code& ec) noexcept;

// The file is damaged, or no database at all.
bool is_damage(const error_code& ec) noexcept;

// Another process stands in the way.
bool is_busy(const error_code& ec) noexcept;

// A prepared statement. Parameters are numbered from 1, columns from 0; bound bytes must stay until
// reset(). A value that is too large is reported by the next step(). Its connection outlives it.
class statement {
public:
    statement() = default;

    statement& bind(int parameter, std::int64_t value);
    statement& bind(int parameter, byte_view value);
    statement& bind(int parameter, std::string_view value);
    statement& bind_null(int parameter);

    // True while there is a row. After false or an error the statement is reset.
    result<bool> step();
    // Runs to the end; rows are dropped.
    result<void> run();
    void reset() noexcept;

    std::int64_t integer(int column) const noexcept;
    byte_view bytes(int column) const noexcept;  // until the next step() or reset()
    bool is_null(int column) const noexcept;

private:
    friend class database;
    struct finalize {
        void operator()(sqlite3_stmt* statement) const noexcept;
    };
    void note_bound(int code) noexcept;

    std::unique_ptr<sqlite3_stmt, finalize> handle_;
    int bind_failure_ = 0;
};

// Resets a statement that may have been left at a row: an unreset read holds its snapshot open.
class reset_guard {
public:
    explicit reset_guard(statement& owned) noexcept : owned_(owned) {}
    ~reset_guard() { owned_.reset(); }
    reset_guard(const reset_guard&) = delete;
    reset_guard& operator=(const reset_guard&) = delete;

private:
    statement& owned_;
};

enum class role {
    writer,  // the one connection that writes and checkpoints; creates the file
    reader,  // query only, never checkpoints
    copier,  // makes a file that nobody reads until it is complete: nothing is synced
};

enum class checkpoint_kind { passive, restart, truncate };

struct checkpoint_progress {
    int wal_pages = 0;  // -1 when another connection was in the way
    int copied_pages = 0;

    bool is_complete() const noexcept { return wal_pages >= 0 && copied_pages >= wal_pages; }
};

class database {
public:
    // Throws std::bad_alloc only.
    static result<database> open(const std::filesystem::path& path, role as);

    result<void> execute(const char* sql);
    result<statement> prepare(const char* sql);
    result<checkpoint_progress> checkpoint(checkpoint_kind kind);

    // From the next transaction on; at first a writer's commits are synced. One that is not stays
    // in order, and becomes durable with the next that is and changes anything, or a checkpoint.
    result<void> sync_commits(bool wanted);

    // Of the whole database, with what the log has of it.
    result<std::uint64_t> size_bytes();

    // Rows changed by the last INSERT, UPDATE or DELETE.
    std::int64_t changes() const noexcept;
    bool in_transaction() const noexcept;
    // errno of the last failed call of the operating system, right after the failure.
    int system_errno() const noexcept;
    // Pages in the write-ahead log after the last commit.
    int wal_pages() const noexcept { return *wal_pages_; }

private:
    friend class page_copy;
    struct close {
        void operator()(sqlite3* handle) const noexcept;
    };
    // Outlives handle_, whose hook writes it.
    std::unique_ptr<int> wal_pages_ = std::make_unique<int>(0);
    std::unique_ptr<sqlite3, close> handle_;
    bool syncs_commits_ = true;
};

}  // namespace cairn::sqlite
