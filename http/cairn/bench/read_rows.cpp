#include "http/cairn/bench/reads.hpp"
#include "http/cairn/bench/replays.hpp"
#include "http/cairn/bench/rows.hpp"
#include "http/cairn/bench/sizes.hpp"

#include <algorithm>

namespace cairn::bench {
namespace {

// So many of a size that they stay in memory on both sides.
std::size_t blobs_of(std::size_t size_bytes, effort how) {
    const std::size_t whole = std::min<std::size_t>(20'000, 64 * MiB / size_bytes);
    return how == effort::whole ? whole : 64;
}

comparison hit_row(std::size_t size_bytes, effort how, double must, double aim) {
    const replay_load load{size_bytes, blobs_of(size_bytes, how)};
    comparison row;
    row.name = "hit " + size_text(size_bytes) + ", id known, before the body, embedded";
    row.unit = "hits/s";
    row.must = must;
    row.aim = aim;
    row.ours = [load](auto folder) { return embedded_hits(folder, load); };
    row.rival = [load](auto folder) { return sqlite_replays(folder, load); };
    return row;
}

comparison hashed_row(effort how) {
    const replay_load load{64 * KiB, blobs_of(256 * KiB, how)};
    comparison row;
    row.name = "hashed re-put 64 KiB, embedded";
    row.unit = "puts/s";
    row.must = 0.7;
    row.aim = 0.9;
    row.ours = [load](auto folder) { return embedded_reputs(folder, load); };
    row.rival = [load](auto) { return sha256_speed(load); };
    return row;
}

struct wanted {
    std::size_t size_bytes;
    double must;
    double aim;
};

comparison read_row(wanted of, std::size_t callers, bool is_cached, effort how) {
    const read_load load{of.size_bytes, callers, blobs_of(of.size_bytes, how)};
    comparison row;
    row.name = "get " + size_text(of.size_bytes) + (is_cached ? " hot, " : ", cache off, ") +
               caller_text(callers) + ", embedded";
    row.unit = "gets/s";
    row.must = of.must;
    row.aim = of.aim;
    const std::size_t cache_bytes = is_cached ? 64 * MiB : 0;
    row.ours = [=](auto folder) { return embedded_reads(folder, load, cache_bytes); };
    row.rival = [=](auto folder) { return sqlite_reads(folder, load); };
    return row;
}

}  // namespace

void add_read_rows(std::vector<comparison>& to, effort how) {
    to.push_back(hit_row(KiB, how, 2, 10));
    to.push_back(hit_row(64 * KiB, how, 20, 100));
    to.push_back(hashed_row(how));
    const wanted hot[] = {{KiB, 2.5, 10}, {16 * KiB, 3, 10}, {64 * KiB, 5, 10}};
    for (const std::size_t callers : {1, 32}) {
        for (const wanted& each : hot) to.push_back(read_row(each, callers, true, how));
    }
    const wanted uncached[] = {{KiB, 2, 3}, {16 * KiB, 2, 3}, {64 * KiB, 3, 5}};
    for (const wanted& each : uncached) to.push_back(read_row(each, 32, false, how));
}

}  // namespace cairn::bench
