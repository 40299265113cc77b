#include "http/cairn/bench/child_server.hpp"
#include "http/cairn/bench/http_gets.hpp"
#include "http/cairn/bench/puts.hpp"
#include "http/cairn/bench/replays.hpp"
#include "http/cairn/bench/rows.hpp"
#include "http/cairn/bench/sizes.hpp"

namespace cairn::bench {
namespace {

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

comparison against_nginx(get_load load, double must, double aim) {
    comparison row;
    row.name = "GET " + size_text(load.size_bytes) + " hot, HTTP";
    row.unit = "us of server CPU a request";
    row.smaller_is_better = true;
    row.must = must;
    row.aim = aim;
    row.ours = [load](auto folder) { return cairn_gets(folder, load); };
    row.rival = [load](auto folder) { return nginx_gets(folder, load); };
    return row;
}

comparison against_sha256(const char* where, double must, double aim) {
    comparison row;
    row.name = std::string("PUT 1 MiB on one core, ") + where + ", HTTP";
    row.unit = "puts/s of processor";
    row.must = must;
    row.aim = aim;
    row.rival = [](auto) { return sha256_speed({MiB, 8}); };
    return row;
}

}  // namespace

void add_http_rows(std::vector<comparison>& to) {
    const put_load large{MiB, 8};
    to.push_back(against_embedded(1, 0, 0));
    to.push_back(against_embedded(8, 0, 0));
    to.push_back(against_embedded(32, 0, 0));
    to.push_back(against_embedded(64, 0.4, 0.6));
    to.push_back(against_sha256("memory", 0.65, 0.8));
    to.back().ours = [large](auto) { return one_core_memory_puts(large); };
    to.push_back(against_sha256("durable", 0.4, 0.6));
    to.back().ours = [large](auto folder) { return one_core_puts(folder, large); };
    if (!child_server::has_nginx()) return;
    to.push_back(against_nginx({KiB, 32}, 1.0, 1.5));
    to.push_back(against_nginx({64 * KiB, 32}, 0.87, 1.05));
    to.push_back(against_nginx({MiB, 16}, 0.87, 1.05));
    to.push_back(against_nginx({16 * MiB, 4}, 0.87, 1.05));
}

}  // namespace cairn::bench
