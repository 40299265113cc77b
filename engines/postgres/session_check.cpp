#include "engines/postgres/session_check.hpp"

#include "runtime/log.hpp"

#include <utility>

namespace cairn::postgres {
namespace {

// A transaction of ours that waits longer than these would hold up others; none does on a healthy
// server. lz4 for large objects: their default compression is what makes them slow (LIMITS.md D).
constexpr statement set_session{
    nullptr,
    "SELECT set_config('statement_timeout', '30s', false),"
    " set_config('lock_timeout', '10s', false),"
    " set_config('idle_in_transaction_session_timeout', '30s', false),"
    " set_config('default_transaction_isolation', 'read committed', false),"
    " set_config('application_name', 'cairn', false)"};
constexpr statement use_lz4{nullptr,
                            "SELECT set_config(name, 'lz4', false) FROM pg_settings"
                            " WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)"};
constexpr statement read_settings{
    nullptr,
    "SELECT current_setting('server_version_num')::bigint, current_setting('fsync')::boolean,"
    " current_setting('full_page_writes')::boolean,"
    " current_setting('synchronous_standby_names') <> ''"};

result<void> judge(const server_traits& server, session_needs needs) {
    if (server.version < 150000) {
        log_error("postgres", "the server is version {}, cairn needs 15 or later", server.version);
        return errc::unsupported;
    }
    if (server.is_weak() && !needs.allow_weak_storage) {
        log_error("postgres",
                  "the server runs with {}=off and may lose what it acknowledged: turn it on, or "
                  "pass --allow-weak-storage",
                  server.fsync ? "full_page_writes" : "fsync");
        return errc::weak_storage;
    }
    if (needs.replicated && !server.has_standbys) {
        log_error("postgres",
                  "--durability replicated needs synchronous_standby_names on the server, where it "
                  "is empty: name the standbys there, or use --durability full");
        return errc::weak_storage;
    }
    return {};
}

}  // namespace

awaitable<result<server_traits>> check_session(greeting& fresh, session_needs needs) {
    segment work;
    if (needs.own_session) work.add(set_session).add(use_lz4);
    work.add(read_settings);
    auto told = co_await fresh.run(std::move(work));
    if (!told) co_return told.error();
    const rows& settings = told->back();
    server_traits server;
    server.version = settings.integer(0, 0);
    server.fsync = settings.boolean(0, 1);
    server.full_page_writes = settings.boolean(0, 2);
    server.has_standbys = settings.boolean(0, 3);
    auto good = judge(server, needs);
    if (!good) co_return good.error();
    co_return server;
}

}  // namespace cairn::postgres
