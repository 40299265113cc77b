#include "engines/sqlite/database.hpp"

#include "runtime/check.hpp"

#include <new>
#include <sqlite3.h>
#include <utility>

namespace cairn::sqlite {
namespace {

class sqlite_category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "sqlite"; }
    std::string message(int code) const override {
        return std::string(sqlite3_errstr(code)) + " (" + std::to_string(code) + ")";
    }
};

// The order matters: the page size is fixed by the first write, WAL by the next statement.
constexpr const char* writer_pragmas =
    "PRAGMA page_size=8192;"
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA wal_autocheckpoint=0;"
    "PRAGMA journal_size_limit=67108864;"
    "PRAGMA cache_size=-65536;"
    "PRAGMA secure_delete=OFF;";

constexpr const char* copier_pragmas = "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;";

constexpr const char* reader_pragmas = "PRAGMA query_only=ON; PRAGMA cache_size=-32768;";

// mmap: an I/O error would be a SIGBUS instead of an answer.
constexpr const char* shared_pragmas =
    "PRAGMA mmap_size=0;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA trusted_schema=OFF;"
    "PRAGMA cell_size_check=ON;";

// The largest value is an inline blob of at most 64 KiB; the rest of the row is small.
constexpr int value_bytes_max = 1 << 20;

int remember_wal_pages(void* pages, sqlite3*, const char*, int count) {
    *static_cast<int*>(pages) = count;
    return SQLITE_OK;
}

const char* pragmas_of(role as) noexcept {
    switch (as) {
        case role::writer: return writer_pragmas;
        case role::reader: return reader_pragmas;
        case role::copier: return copier_pragmas;
    }
    return "";
}

}  // namespace

const boost::system::error_category& category() noexcept {
    static const sqlite_category instance;
    return instance;
}

error_code error_from(int code) noexcept {
    if ((code & 0xff) == SQLITE_FULL) return errc::no_space;
    return error_code(code, category());
}

bool is_failed_sync(const error_code& ec) noexcept {
    if (ec.category() != category()) return false;
    return ec.value() == SQLITE_IOERR_FSYNC || ec.value() == SQLITE_IOERR_DIR_FSYNC;
}

bool is_damage(const error_code& ec) noexcept {
    if (ec.category() != category()) return false;
    const int primary = ec.value() & 0xff;
    return primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB;
}

bool is_busy(const error_code& ec) noexcept {
    return ec.category() == category() && (ec.value() & 0xff) == SQLITE_BUSY;
}

void statement::finalize::operator()(sqlite3_stmt* handle) const noexcept {
    sqlite3_finalize(handle);
}

statement& statement::bind(int parameter, std::int64_t value) {
    CAIRN_CHECK(sqlite3_bind_int64(handle_.get(), parameter, value) == SQLITE_OK);
    return *this;
}

statement& statement::bind(int parameter, byte_view value) {
    // A null pointer would bind NULL, and an empty blob is a value.
    const void* data = value.empty() ? "" : static_cast<const void*>(value.data());
    const int size = static_cast<int>(value.size());
    note_bound(sqlite3_bind_blob(handle_.get(), parameter, data, size, SQLITE_STATIC));
    return *this;
}

statement& statement::bind(int parameter, std::string_view value) {
    const int size = static_cast<int>(value.size());
    note_bound(sqlite3_bind_text(handle_.get(), parameter, value.data(), size, SQLITE_STATIC));
    return *this;
}

statement& statement::bind_null(int parameter) {
    CAIRN_CHECK(sqlite3_bind_null(handle_.get(), parameter) == SQLITE_OK);
    return *this;
}

void statement::note_bound(int code) noexcept {
    if (code != SQLITE_OK) bind_failure_ = code;
}

result<bool> statement::step() {
    if (const int code = std::exchange(bind_failure_, SQLITE_OK); code != SQLITE_OK) {
        return failed_bool(error_from(code));
    }
    const int code = sqlite3_step(handle_.get());
    if (code == SQLITE_ROW) return true;
    const int extended = sqlite3_extended_errcode(sqlite3_db_handle(handle_.get()));
    reset();
    if (code == SQLITE_DONE) return false;
    return failed_bool(error_from(extended));
}

result<void> statement::run() {
    while (true) {
        auto more = step();
        if (!more) return more.error();
        if (!*more) return {};
    }
}

void statement::reset() noexcept { sqlite3_reset(handle_.get()); }

std::int64_t statement::integer(int column) const noexcept {
    return sqlite3_column_int64(handle_.get(), column);
}

byte_view statement::bytes(int column) const noexcept {
    const void* data = sqlite3_column_blob(handle_.get(), column);
    const int size = sqlite3_column_bytes(handle_.get(), column);
    return {static_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
}

bool statement::is_null(int column) const noexcept {
    return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
}

void database::close::operator()(sqlite3* handle) const noexcept {
    // Statements of this connection are gone by now, or this would leave a zombie behind.
    CAIRN_CHECK(sqlite3_close(handle) == SQLITE_OK);
}

result<database> database::open(const std::filesystem::path& path, role as) {
    database made;
    sqlite3* handle = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                      (as == role::reader ? 0 : SQLITE_OPEN_CREATE);
    const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
    made.handle_.reset(handle);
    if (!handle) throw std::bad_alloc();
    if (code != SQLITE_OK) return error_from(code);
    sqlite3_busy_timeout(handle, 2000);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, value_bytes_max);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    // Readers never checkpoint (the WAL-reset bug of 3.40.1); the writer does it itself.
    sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    if (auto ok = made.execute(shared_pragmas); !ok) return ok.error();
    if (auto ok = made.execute(pragmas_of(as)); !ok) return ok.error();
    sqlite3_wal_hook(handle, remember_wal_pages, made.wal_pages_.get());
    return made;
}

result<void> database::execute(const char* sql) {
    const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return error_from(sqlite3_extended_errcode(handle_.get()));
    return {};
}

result<statement> database::prepare(const char* sql) {
    statement made;
    sqlite3_stmt* handle = nullptr;
    const int code =
        sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
    made.handle_.reset(handle);
    if (code != SQLITE_OK) return error_from(sqlite3_extended_errcode(handle_.get()));
    return made;
}

result<checkpoint_progress> database::checkpoint(checkpoint_kind kind) {
    const int mode = kind == checkpoint_kind::passive   ? SQLITE_CHECKPOINT_PASSIVE
                     : kind == checkpoint_kind::restart ? SQLITE_CHECKPOINT_RESTART
                                                        : SQLITE_CHECKPOINT_TRUNCATE;
    checkpoint_progress progress;
    const int code = sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, mode, &progress.wal_pages,
                                               &progress.copied_pages);
    if (code == SQLITE_BUSY) return checkpoint_progress{-1, progress.copied_pages};
    if (code != SQLITE_OK) return error_from(sqlite3_extended_errcode(handle_.get()));
    return progress;
}

result<void> database::sync_commits(bool wanted) {
    if (wanted == syncs_commits_) return {};
    auto set = execute(wanted ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    if (set) syncs_commits_ = wanted;
    return set;
}

result<std::uint64_t> database::size_bytes() {
    auto query = prepare("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
    if (!query) return query.error();
    auto found = query->step();
    if (!found) return found.error();
    return static_cast<std::uint64_t>(query->integer(0));
}

std::int64_t database::changes() const noexcept { return sqlite3_changes64(handle_.get()); }

bool database::in_transaction() const noexcept {
    return sqlite3_get_autocommit(handle_.get()) == 0;
}

int database::system_errno() const noexcept { return sqlite3_system_errno(handle_.get()); }

}  // namespace cairn::sqlite
