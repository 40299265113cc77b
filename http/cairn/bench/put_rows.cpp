#include "http/cairn/bench/puts.hpp"
#include "http/cairn/bench/rocksdb_rival.hpp"
#include "http/cairn/bench/rows.hpp"
#include "http/cairn/bench/sizes.hpp"

namespace cairn::bench {
namespace {

comparison put_row(put_load load, double must, double aim) {
    comparison row;
    row.name =
        "fresh put " + size_text(load.size_bytes) + ", " + caller_text(load.callers) + ", embedded";
    row.unit = "puts/s";
    row.must = must;
    row.aim = aim;
    row.ours = [load](auto folder) { return embedded_puts(folder, load); };
    return row;
}

comparison against_sqlite(std::size_t callers, double must, double aim) {
    const put_load load{KiB, callers};
    comparison row = put_row(load, must, aim);
    row.rival = [load](auto folder) { return sqlite_puts(folder, load); };
    return row;
}

comparison against_inline(std::size_t size_bytes, double must, double aim) {
    const put_load load{size_bytes, 64};
    comparison row = put_row(load, must, aim);
    row.rival = [load](auto folder) { return embedded_puts(folder, load, MiB); };
    return row;
}

comparison against_files(publish how) {
    const put_load load{64 * KiB, 1};
    comparison row = put_row(load, 2, 3);
    row.name += how == publish::rename ? ", against rename" : ", against O_TMPFILE";
    row.rival = [load, how](auto folder) { return file_puts(folder, load, how); };
    return row;
}

comparison against_rocksdb(std::size_t size_bytes) {
    const put_load load{size_bytes, 64};
    comparison row = put_row(load, 0.7, 1.2);
    row.name += ", against RocksDB";
    row.rival = [load](auto folder) { return rocksdb_puts(folder, load); };
    return row;
}

}  // namespace

void add_put_rows(std::vector<comparison>& to) {
    to.push_back(against_sqlite(1, 0.85, 1.0));
    to.push_back(against_sqlite(8, 2, 2.8));
    to.push_back(against_sqlite(32, 6, 9));
    to.push_back(against_sqlite(64, 9, 13));
    to.push_back(against_inline(16 * KiB, 1.5, 2));
    to.push_back(against_inline(64 * KiB, 1.8, 2.5));
    to.push_back(against_inline(256 * KiB, 2, 2.8));
    to.push_back(against_files(publish::rename));
    to.push_back(against_files(publish::link));
    if (!has_rocksdb()) return;
    for (const std::size_t size_bytes : {KiB, 16 * KiB, 64 * KiB}) {
        to.push_back(against_rocksdb(size_bytes));
    }
}

}  // namespace cairn::bench
