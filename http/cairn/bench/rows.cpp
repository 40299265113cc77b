#include "http/cairn/bench/child_server.hpp"
#include "http/cairn/bench/comparison.hpp"
#include "http/cairn/bench/http_gets.hpp"
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
    return rows;
}

}  // namespace cairn::bench
