#include "http/cairn/bench/postgres.hpp"
#include "http/cairn/bench/postgres_cluster.hpp"
#include "http/cairn/bench/rows.hpp"
#include "http/cairn/bench/sizes.hpp"

namespace cairn::bench {
namespace {

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

comparison against_pgbench_reads(std::size_t callers, effort how, double must, double aim) {
    const read_load load{KiB, callers, how == effort::whole ? 20'000U : 64U};
    comparison row = postgres_row("get 1 KiB, " + caller_text(callers), must, aim);
    row.unit = "gets/s";
    row.ours = [load](auto folder) { return postgres_reads(folder, load); };
    row.rival = [load](auto folder) { return pgbench_reads(folder, load); };
    return row;
}

comparison against_large_object_puts(std::size_t size_bytes, double must, double aim) {
    const put_load load{size_bytes, 1};
    comparison row = postgres_row("put " + size_text(size_bytes) + ", 1 caller", must, aim);
    row.unit = "puts/s";
    row.ours = [load](auto folder) { return postgres_puts(folder, load); };
    row.rival = [load](auto folder) { return large_object_puts(folder, load); };
    return row;
}

comparison against_large_object_reads(effort how, double must, double aim) {
    const read_load load{16 * MiB, 1, how == effort::whole ? 4U : 1U};
    comparison row = postgres_row("get 16 MiB, 1 caller", must, aim);
    row.unit = "gets/s";
    row.ours = [load](auto folder) { return postgres_reads(folder, load); };
    row.rival = [load](auto folder) { return large_object_reads(folder, load); };
    return row;
}

}  // namespace

void add_postgres_rows(std::vector<comparison>& to, effort how) {
    if (!postgres_cluster::is_installed()) return;
    to.push_back(against_pgbench_puts(8, 1.6, 2));
    to.push_back(against_pgbench_puts(24, 3, 4.3));
    to.push_back(against_pgbench_reads(8, how, 1.7, 2.2));
    to.push_back(against_pgbench_reads(24, how, 3, 4.2));
    to.push_back(against_large_object_puts(MiB, 1.8, 2.5));
    to.push_back(against_large_object_puts(16 * MiB, 1.8, 2.5));
    to.push_back(against_large_object_reads(how, 1.5, 2.5));
}

}  // namespace cairn::bench
