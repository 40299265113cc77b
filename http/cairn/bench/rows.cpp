#include "http/cairn/bench/child_server.hpp"
#include "http/cairn/bench/comparison.hpp"
#include "http/cairn/bench/http_gets.hpp"
#include "http/cairn/bench/postgres.hpp"
#include "http/cairn/bench/postgres_cluster.hpp"
#include "http/cairn/bench/puts.hpp"

namespace cairn::bench {
namespace {

constexpr std::size_t KiB = 1 << 10;
constexpr std::size_t MiB = 1 << 20;

std::string caller_text(std::size_t callers) {
    return std::to_string(callers) + (callers == 1 ? " caller" : " callers");
}

comparison against_sqlite(std::size_t callers, double must, double aim) {
    const put_load load{KiB, callers};
    comparison row;
    row.name = "fresh put 1 KiB, " + caller_text(callers) + ", embedded";
    row.unit = "puts/s";
    row.must = must;
    row.aim = aim;
    row.ours = [load](auto folder) { return embedded_puts(folder, load); };
    row.rival = [load](auto folder) { return sqlite_puts(folder, load); };
    return row;
}

comparison against_embedded(std::size_t callers, double must, double aim) {
    const put_load load{KiB, callers};
    comparison row;
    row.name = "fresh put 1 KiB, " + caller_text(callers) + ", HTTP";
    row.unit = "puts/s";
    row.must = must;
    row.aim = aim;
    row.ours = [load](auto folder) { return http_puts(folder, load); };
    row.rival = [load](auto folder) { return embedded_puts(folder, load); };
    return row;
}

comparison against_files(publish how) {
    const put_load load{64 * KiB, 1};
    comparison row;
    row.name = std::string("fresh put 64 KiB, 1 caller, embedded, against ") +
               (how == publish::rename ? "rename" : "O_TMPFILE");
    row.unit = "puts/s";
    row.must = 2;
    row.aim = 3;
    row.ours = [load](auto folder) { return embedded_puts(folder, load); };
    row.rival = [load, how](auto folder) { return file_puts(folder, load, how); };
    return row;
}

comparison against_inline(std::size_t size_bytes, double must, double aim) {
    const put_load load{size_bytes, 64};
    comparison row;
    row.name = "fresh put " + std::to_string(size_bytes / KiB) + " KiB, 64 callers, embedded";
    row.unit = "puts/s";
    row.must = must;
    row.aim = aim;
    row.ours = [load](auto folder) { return embedded_puts(folder, load); };
    row.rival = [load](auto folder) { return embedded_puts(folder, load, 512 * KiB); };
    return row;
}

comparison against_nginx(const char* size, get_load load, double must, double aim) {
    comparison row;
    row.name = std::string("GET ") + size + " hot, HTTP";
    row.unit = "us of server CPU a request";
    row.smaller_is_better = true;
    row.must = must;
    row.aim = aim;
    row.ours = [load](auto folder) { return cairn_gets(folder, load); };
    row.rival = [load](auto folder) { return nginx_gets(folder, load); };
    return row;
}

comparison postgres_row(const std::string& name, double must, double aim) {
    comparison row;
    row.name = "PostgreSQL " + name;
    row.must = must;
    row.aim = aim;
    row.note = postgres_cluster::settings_text();
    return row;
}

comparison against_pgbench_puts(std::size_t callers, double must, double aim) {
    const put_load load{KiB, callers};
    comparison row = postgres_row("put 1 KiB, " + caller_text(callers), must, aim);
    row.unit = "puts/s";
    row.ours = [load](auto folder) { return postgres_puts(folder, load); };
    row.rival = [load](auto folder) { return pgbench_puts(folder, load); };
    return row;
}

comparison against_pgbench_reads(std::size_t callers, double must, double aim) {
    const read_load load{KiB, callers};
    comparison row = postgres_row("get 1 KiB, " + caller_text(callers), must, aim);
    row.unit = "gets/s";
    row.ours = [load](auto folder) { return postgres_reads(folder, load); };
    row.rival = [load](auto folder) { return pgbench_reads(folder, load); };
    return row;
}

comparison against_large_object_puts(std::size_t size_bytes, double must, double aim) {
    const put_load load{size_bytes, 1};
    const std::string size = std::to_string(size_bytes / MiB);
    comparison row = postgres_row("put " + size + " MiB, 1 caller", must, aim);
    row.unit = "puts/s";
    row.ours = [load](auto folder) { return postgres_puts(folder, load); };
    row.rival = [load](auto folder) { return large_object_puts(folder, load); };
    return row;
}

comparison against_large_object_reads(double must, double aim) {
    const read_load load{16 * MiB, 1, 4};
    comparison row = postgres_row("get 16 MiB, 1 caller", must, aim);
    row.unit = "gets/s";
    row.ours = [load](auto folder) { return postgres_reads(folder, load); };
    row.rival = [load](auto folder) { return large_object_reads(folder, load); };
    return row;
}

void add_postgres_rows(std::vector<comparison>& to) {
    if (!postgres_cluster::is_installed()) return;
    to.push_back(against_pgbench_puts(8, 1.6, 2));
    to.push_back(against_pgbench_puts(24, 3, 4.3));
    to.push_back(against_pgbench_reads(8, 1.7, 2.2));
    to.push_back(against_pgbench_reads(24, 3, 4.2));
    to.push_back(against_large_object_puts(MiB, 1.8, 2.5));
    to.push_back(against_large_object_puts(16 * MiB, 1.8, 2.5));
    to.push_back(against_large_object_reads(1.5, 2.5));
}

}  // namespace

std::vector<comparison> all_rows() {
    std::vector<comparison> rows{
        against_sqlite(1, 0.85, 1.0),     against_sqlite(8, 2, 2.8),
        against_sqlite(32, 6, 9),         against_sqlite(64, 9, 13),
        against_embedded(1, 0, 0),        against_embedded(8, 0, 0),
        against_embedded(32, 0, 0),       against_embedded(64, 0.4, 0.6),
        against_files(publish::rename),   against_files(publish::link),
        against_inline(16 * KiB, 1.5, 2), against_inline(64 * KiB, 1.8, 2.5),
    };
    if (child_server::has_nginx()) {
        rows.push_back(against_nginx("1 KiB", {KiB, 32}, 1.0, 1.5));
        rows.push_back(against_nginx("1 MiB", {MiB, 16}, 0.87, 1.05));
    }
    add_postgres_rows(rows);
    return rows;
}

}  // namespace cairn::bench
