#include "http/cairn/bench/postgres.hpp"

#include "http/cairn/bench/postgres_cluster.hpp"

#include <utility>

namespace cairn::bench {
namespace {

embedded_store store_beside(const std::filesystem::path& folder) {
    const auto cluster = postgres_cluster::beside(folder);
    embedded_store in;
    in.what = "cairn, embedded, on PostgreSQL";
    in.options.catalog = cluster->create_database("cairn");
    in.stands_on = cluster;
    return in;
}

}  // namespace

std::unique_ptr<contender> postgres_puts(std::filesystem::path folder, put_load load) {
    return puts_into(store_beside(folder), load);
}

std::unique_ptr<contender> postgres_reads(std::filesystem::path folder, read_load load) {
    return reads_from(store_beside(folder), load);
}

}  // namespace cairn::bench
