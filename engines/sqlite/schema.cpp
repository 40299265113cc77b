#include "engines/sqlite/schema.hpp"

#include <fmt/core.h>

namespace cairn::sqlite {
namespace {

constexpr std::int64_t application_id = 0x6361726e;  // "carn"

// Offsets, sizes and numbers are unsigned 64-bit in cairn and the same bits, signed, here. Values
// lie in the rows of a rowid table: in a WITHOUT ROWID tree every comparison of a key would walk
// past them (LIMITS.md B). Leases, names, the feed and the operations are filled by later parts of
// the design; their tables are here so that a store needs no migration for them.
constexpr const char* tables = R"sql(
CREATE TABLE meta(
    key TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs(
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE CHECK (length(id) = 32),
    size INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    container INTEGER, offset INTEGER, length INTEGER,
    checksums INTEGER NOT NULL,
    value BLOB,
    CHECK ((container IS NULL) = (value IS NOT NULL))
) STRICT;

CREATE TABLE leases(
    blob BLOB PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE namespaces(
    name TEXT PRIMARY KEY,
    policy TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE names(
    namespace TEXT NOT NULL,
    key BLOB NOT NULL,
    id BLOB NOT NULL,
    kind INTEGER NOT NULL,
    meta BLOB,
    PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX names_by_id ON names(id);

CREATE TABLE segments(
    segment INTEGER PRIMARY KEY,
    boot INTEGER NOT NULL,
    sealed INTEGER NOT NULL DEFAULT 0,
    end_bytes INTEGER NOT NULL DEFAULT 0,
    live_bytes INTEGER NOT NULL DEFAULT 0,
    replay_key INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX segments_unsealed ON segments(segment) WHERE sealed = 0;

CREATE TABLE reclaim(
    container INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
    owner INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (container, offset, length)
) STRICT, WITHOUT ROWID;

CREATE TABLE quarantine(
    id BLOB PRIMARY KEY,
    container INTEGER, offset INTEGER, length INTEGER,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE removals(
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE TABLE operations(
    id BLOB PRIMARY KEY,
    outcome INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per writing connection: SQLite has one.
CREATE TABLE totals(
    stripe INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL,
    blobs INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    next_seq INTEGER NOT NULL,
    last_stamp INTEGER NOT NULL
) STRICT;
INSERT INTO totals VALUES(0, 0, 0, 0, 1, 0);

INSERT INTO meta VALUES
    ('incarnation', lower(hex(randomblob(16)))),
    ('boot', 0),
    ('durability', 'full'),
    ('retention', 'keep-all');
)sql";

result<std::int64_t> single_integer(database& from, const char* sql) {
    auto query = from.prepare(sql);
    if (!query) return query.error();
    auto found = query->step();
    if (!found) return found.error();
    if (!*found) return errc::incompatible;
    return query->integer(0);
}

// Rows that the log holds are not synced (engines/log_commits.hpp), so a crash may take a few MiB
// of them; what it takes comes back with other seqs, behind all that were ever seen.
constexpr std::int64_t seqs_lost_max = 1 << 20;

result<void> create_tables(database& writer) {
    const std::string sql =
        fmt::format("BEGIN IMMEDIATE;{}PRAGMA application_id={};PRAGMA user_version={};COMMIT;",
                    tables, application_id, format_version);
    return writer.execute(sql.c_str());
}

// Format 1 knew no replayed segments: an older build would not put again what only the log holds.
result<void> migrate_from_1(database& writer) {
    const std::string sql = fmt::format(
        "BEGIN IMMEDIATE;"
        "ALTER TABLE segments ADD COLUMN replay_key INTEGER NOT NULL DEFAULT 0;"
        "PRAGMA user_version={};COMMIT;",
        format_version);
    return writer.execute(sql.c_str());
}

}  // namespace

result<void> prepare_schema(database& writer) {
    auto id = single_integer(writer, "PRAGMA application_id");
    if (!id) return id.error();
    auto version = single_integer(writer, "PRAGMA user_version");
    if (!version) return version.error();
    auto table_count = single_integer(writer, "SELECT count(*) FROM sqlite_schema");
    if (!table_count) return table_count.error();
    if (*id == 0 && *version == 0 && *table_count == 0) return create_tables(writer);
    if (*id != application_id || *version < 1 || *version > format_version) {
        return errc::incompatible;
    }
    auto taken_at = copy_taken_at(writer);
    if (!taken_at) return taken_at.error();
    if (*taken_at) return errc::restored_copy;
    return *version == 1 ? migrate_from_1(writer) : result<void>();
}

result<void> mark_copy(database& copy, std::int64_t taken_at_us) {
    const std::string sql = fmt::format("INSERT INTO meta VALUES('taken_at', {})", taken_at_us);
    return copy.execute(sql.c_str());
}

result<std::optional<std::int64_t>> copy_taken_at(database& any) {
    auto query = any.prepare("SELECT value FROM meta WHERE key = 'taken_at'");
    if (!query) return query.error();
    auto found = query->step();
    if (!found) return found.error();
    std::optional<std::int64_t> taken_at;
    if (*found) taken_at = query->integer(0);
    return taken_at;
}

result<void> unmark_copy(database& copy) {
    return copy.execute("DELETE FROM meta WHERE key = 'taken_at'");
}

result<void> start_anew(database& writer, std::uint64_t boot) {
    const std::string sql = fmt::format(
        "BEGIN IMMEDIATE;"
        "UPDATE meta SET value = lower(hex(randomblob(16))) WHERE key = 'incarnation';"
        "UPDATE meta SET value = max(value, {}) WHERE key = 'boot';"
        "UPDATE segments SET replay_key = 0 WHERE replay_key <> 0;"
        "COMMIT;",
        boot);
    return writer.execute(sql.c_str());
}

result<std::vector<std::string>> integrity_complaints(database& any) {
    auto query = any.prepare("PRAGMA integrity_check(20)");
    if (!query) return query.error();
    std::vector<std::string> complaints;
    while (true) {
        auto found = query->step();
        if (!found) return found.error();
        if (!*found) break;
        complaints.emplace_back(as_text(query->bytes(0)));
    }
    if (complaints.size() == 1 && complaints.front() == "ok") complaints.clear();
    return complaints;
}

result<std::uint64_t> raise_boot(database& writer) {
    const std::string sql = fmt::format(
        "BEGIN IMMEDIATE;"
        "UPDATE meta SET value = value + 1 WHERE key = 'boot';"
        "UPDATE totals SET next_seq = next_seq + {};"
        "COMMIT;",
        seqs_lost_max);
    if (auto ok = writer.execute(sql.c_str()); !ok) return ok.error();
    return last_boot(writer);
}

result<std::uint64_t> last_boot(database& any) {
    auto boot = single_integer(any, "SELECT value FROM meta WHERE key = 'boot'");
    if (!boot) return boot.error();
    return static_cast<std::uint64_t>(*boot);
}

result<std::string> incarnation(database& any) {
    auto query = any.prepare("SELECT value FROM meta WHERE key = 'incarnation'");
    if (!query) return query.error();
    auto found = query->step();
    if (!found) return found.error();
    if (!*found) return errc::incompatible;
    return std::string(as_text(query->bytes(0)));
}

}  // namespace cairn::sqlite
