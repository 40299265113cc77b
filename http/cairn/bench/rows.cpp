#include "http/cairn/bench/rows.hpp"

#include "http/cairn/bench/child_server.hpp"
#include "http/cairn/bench/postgres_cluster.hpp"
#include "http/cairn/bench/rocksdb_rival.hpp"
#include "http/cairn/bench/sizes.hpp"
#include "http/cairn/bench/slow_disk.hpp"

namespace cairn::bench {

std::string size_text(std::size_t size_bytes) {
    if (size_bytes >= MiB) return std::to_string(size_bytes / MiB) + " MiB";
    if (size_bytes >= KiB) return std::to_string(size_bytes / KiB) + " KiB";
    return std::to_string(size_bytes) + " B";
}

std::string caller_text(std::size_t callers) {
    return std::to_string(callers) + (callers == 1 ? " caller" : " callers");
}

std::vector<comparison> all_rows(effort how) {
    std::vector<comparison> rows;
    add_put_rows(rows);
    add_read_rows(rows, how);
    if (this_disk().delay().count() > 0) return rows;
    add_http_rows(rows);
    add_postgres_rows(rows, how);
    return rows;
}

std::vector<std::string> left_out() {
    std::vector<std::string> lines;
    if (!has_rocksdb()) lines.push_back("RocksDB was not there when this was built: no rows");
    if (this_disk().delay().count() > 0) {
        lines.push_back("rows over HTTP and on PostgreSQL have no sync delay: left out");
        return lines;
    }
    if (!child_server::has_nginx()) lines.push_back("nginx is not installed: no rows");
    if (!postgres_cluster::is_installed()) lines.push_back("PostgreSQL is not installed: no rows");
    return lines;
}

}  // namespace cairn::bench
