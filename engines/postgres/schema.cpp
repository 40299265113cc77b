#include "engines/postgres/schema.hpp"

#include "engines/postgres/migrations.hpp"
#include "engines/postgres/sql_error.hpp"
#include "runtime/log.hpp"

#include <utility>

namespace cairn::postgres {
namespace {

// A store of a database has one schema, so one number will do; it only must not be another
// program's by accident.
constexpr statement lock_schema{nullptr, "SELECT pg_advisory_xact_lock(7165637814)"};
constexpr statement has_schema{nullptr, "SELECT to_regclass('cairn.meta') IS NOT NULL"};
constexpr statement make_meta{nullptr,
                              "INSERT INTO cairn.meta(format, durability) VALUES (1, $1::text)"};
constexpr statement check_format{nullptr, "SELECT 1 / (format = $1::bigint)::int FROM cairn.meta"};
constexpr statement set_format{nullptr, "UPDATE cairn.meta SET format = $1::bigint"};
constexpr statement read_meta{nullptr, "SELECT format, durability FROM cairn.meta"};
constexpr statement raise_boot{nullptr,
                               "UPDATE cairn.meta SET boot = boot + 1 RETURNING boot, incarnation,"
                               " set_config('synchronous_commit', 'on', true)"};
constexpr statement fold_lanes{nullptr, "SELECT cairn.fold_lanes()"};

// Another process does the same at this moment and has won.
bool was_done_meanwhile(const error_code& ec) {
    // The schema is there; the format has moved on.
    return ec == sql_error("CA004") || ec == sql_error("22012");
}

// One step, in one transaction that fails as a whole when another process was faster.
awaitable<result<void>> migrate(link& to, std::int64_t from, std::string durability) {
    segment work(lock_schema);
    if (from > 0) {
        parameters format;
        format.add(from);
        work.add(check_format, std::move(format));
    }
    for (const char* sql : migration(static_cast<int>(from))) work.add({nullptr, sql});
    parameters value;
    if (from == 0) {
        value.add(std::string_view(durability));
        work.add(make_meta, std::move(value));
    } else {
        value.add(from + 1);
        work.add(set_format, std::move(value));
    }
    auto done = co_await to.run(std::move(work));
    if (!done && !was_done_meanwhile(done.error())) co_return done.error();
    co_return result<void>();
}

awaitable<result<bool>> exists(link& in) {
    segment query(has_schema);
    auto found = co_await in.run(std::move(query));
    if (!found) co_return failed_bool(found.error());
    co_return found->at(0).boolean(0, 0);
}

awaitable<result<std::int64_t>> format_of(link& in, const std::string& durability) {
    segment query(read_meta);
    auto found = co_await in.run(std::move(query));
    if (!found) co_return found.error();
    const rows& meta = found->at(0);
    if (meta.empty()) co_return error_code(errc::incompatible);
    const std::int64_t format = meta.integer(0, 0);
    if (format > format_version) {
        log_error("postgres", "the store has format {}, this program knows up to {}: update cairn",
                  format, format_version);
        co_return error_code(errc::incompatible);
    }
    if (meta.text(0, 1) != durability) {
        log_error("postgres", "the store was made with --durability {}, not {}: use the same",
                  meta.text(0, 1), durability);
        co_return error_code(errc::incompatible);
    }
    co_return format;
}

awaitable<result<void>> bring_up_to_date(link& to, const std::string& durability) {
    auto there = co_await exists(to);
    if (!there) co_return there.error();
    if (!*there) {
        auto made = co_await migrate(to, 0, durability);
        if (!made) co_return made.error();
    }
    while (true) {
        auto format = co_await format_of(to, durability);
        if (!format) co_return format.error();
        if (*format == format_version) co_return result<void>();
        auto moved = co_await migrate(to, *format, durability);
        if (!moved) co_return moved.error();
    }
}

}  // namespace

awaitable<result<boot_record>> open_schema(link& to, std::string durability) {
    auto current = co_await bring_up_to_date(to, durability);
    if (!current) co_return current.error();
    segment work(raise_boot);
    work.add(fold_lanes);
    auto raised = co_await to.run(std::move(work));
    if (!raised) co_return raised.error();
    const rows& meta = raised->at(0);
    if (meta.empty()) co_return error_code(errc::incompatible);
    boot_record made;
    made.boot = static_cast<std::uint64_t>(meta.integer(0, 0));
    made.incarnation = std::string(meta.text(0, 1));
    co_return made;
}

}  // namespace cairn::postgres
