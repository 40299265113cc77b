#include "engines/postgres/status_details.hpp"

#include <fmt/core.h>
#include <string>
#include <utility>

namespace cairn::postgres {
namespace {

// Its columns are named as the details are.
struct column {
    const char* name;
    const char* expression;
};
constexpr column columns[] = {
    {"server_version", "current_setting('server_version_num')::bigint"},
    {"blobs_table_bytes", "pg_total_relation_size('cairn.blobs')"},
    {"chunks_table_bytes", "pg_total_relation_size('cairn.chunks')"},
    {"large_object_table_bytes", "pg_total_relation_size('pg_catalog.pg_largeobject')"},
    {"dead_rows",
     "(SELECT sum(n_dead_tup)::bigint FROM pg_stat_user_tables WHERE schemaname = 'cairn')"},
    {"seconds_since_autovacuum",
     "(SELECT extract(epoch FROM clock_timestamp() - max(last_autovacuum))::bigint"
     " FROM pg_stat_user_tables WHERE schemaname = 'cairn')"},
    {"transaction_age",
     "(SELECT max(age(c.relfrozenxid))::bigint FROM pg_class c WHERE c.relkind = 'r'"
     " AND c.relnamespace = 'cairn'::regnamespace)"},
    {"standbys", "(SELECT count(*) FROM pg_stat_replication)"},
    {"replay_lag_ms",
     "(SELECT (extract(epoch FROM max(replay_lag)) * 1000)::bigint FROM pg_stat_replication)"},
};

std::string query_text() {
    std::string sql = "SELECT ";
    for (const column& each : columns) {
        if (&each != columns) sql += ", ";
        sql += each.expression;
    }
    return sql;
}

std::string per_batch(const group_commit_counts& counts) {
    const double each = counts.batches == 0 ? 0 : double(counts.entries) / double(counts.batches);
    return fmt::format("{:.1f} in each of {}", each, counts.batches);
}

// "4 of 4 up", and what the first of the others last heard.
void add_connections(std::vector<status_detail>& to, database& of) {
    std::size_t up = 0;
    std::uint64_t connects = 0;
    std::string last_error;
    const auto look = [&](const link_status& each) {
        up += each.connected;
        connects += each.connects;
        if (!each.connected && last_error.empty()) last_error = each.last_error;
    };
    for (std::size_t i = 0; i < of.reader_count(); ++i) look(of.reader_at(i).status());
    for (const auto& each : of.lanes()) look(each->connection().status());
    const std::size_t all = of.reader_count() + of.lanes().size();
    to.push_back({"connections", fmt::format("{} of {} up", up, all)});
    to.push_back({"connects", static_cast<std::int64_t>(connects)});
    if (!last_error.empty()) to.push_back({"connection_error", last_error});
}

}  // namespace

awaitable<result<std::vector<status_detail>>> status_details(database& of, batch_counts batches) {
    std::vector<status_detail> told;
    add_connections(told, of);
    told.push_back({"changes_per_commit", per_batch(batches.commits)});
    told.push_back({"look_ups_per_query", per_batch(batches.look_ups)});
    static const std::string sql = query_text();
    segment query(statement{nullptr, sql.c_str()});
    auto answered = co_await of.read(0, std::move(query));
    if (!answered) co_return answered.error();
    const rows& numbers = answered->at(0);
    for (std::size_t i = 0; i < std::size(columns); ++i) {
        if (!numbers.is_null(0, i)) told.push_back({columns[i].name, numbers.integer(0, i)});
    }
    co_return told;
}

}  // namespace cairn::postgres
