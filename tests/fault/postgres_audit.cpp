#include "tests/fault/postgres_audit.hpp"

#include <array>

namespace cairn::test {
namespace {

// Each selects what must not be there, as one text a row.
struct rule {
    const char* claim;
    const char* sql;
};

constexpr std::array<rule, 7> rules{{
    {"every byte string belongs to a blob or is to be reclaimed",
     "SELECT DISTINCT container FROM cairn.chunks WHERE container NOT IN"
     " (SELECT container FROM cairn.blobs WHERE container IS NOT NULL)"
     " AND container NOT IN (SELECT container FROM cairn.reclaim)"},
    {"every blob in bulk has all its chunks, the last with a trailer",
     "SELECT encode(b.id, 'hex') FROM cairn.blobs b WHERE container IS NOT NULL AND NOT EXISTS"
     " (SELECT FROM cairn.chunks c WHERE c.container = b.container GROUP BY c.container"
     " HAVING count(*) = greatest(1, (b.size + 262143) / 262144) AND max(part) = count(*) - 1"
     " AND count(trailer) = 1)"},
    {"no two blobs share bytes",
     "SELECT container FROM cairn.blobs WHERE container IS NOT NULL GROUP BY container"
     " HAVING count(*) > 1"},
    {"nothing that lives is to be reclaimed",
     "SELECT encode(id, 'hex') FROM cairn.blobs JOIN cairn.reclaim USING (container)"},
    {"every large object is one of a byte string",
     "SELECT oid FROM pg_largeobject_metadata WHERE oid NOT IN"
     " (SELECT object FROM cairn.chunks WHERE object IS NOT NULL)"},
    {"the totals are those of the rows",
     "SELECT * FROM (SELECT sum(blobs) AS blobs, sum(bytes) AS bytes FROM cairn.totals) t"
     " WHERE blobs <> (SELECT count(*) FROM cairn.blobs)"
     " OR bytes <> (SELECT coalesce(sum(size), 0) FROM cairn.blobs)"},
    {"only blobs are quarantined",
     "SELECT encode(id, 'hex') FROM cairn.quarantine WHERE id NOT IN"
     " (SELECT id FROM cairn.blobs)"},
}};

}  // namespace

std::vector<std::string> unaccounted(const postgres_server& server, const std::string& database) {
    std::vector<std::string> found;
    for (const rule& each : rules) {
        const std::string answer = server.sql(each.sql, database);
        if (!answer.empty()) found.push_back(std::string("not so: ") + each.claim + ": " + answer);
    }
    return found;
}

}  // namespace cairn::test
