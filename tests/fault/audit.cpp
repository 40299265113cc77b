#include "tests/fault/audit.hpp"

#include "engines/segments/segment_name.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <sqlite3.h>
#include <stdexcept>
#include <utility>

namespace cairn::test {
namespace {

// Each selects what must not be there, as one text a row.
struct rule {
    const char* claim;
    const char* sql;
};

constexpr std::array<rule, 7> rules{{
    {"every blob in bulk lies in a segment that the catalog knows",
     "SELECT hex(id) FROM blobs WHERE container IS NOT NULL"
     " AND container NOT IN (SELECT segment FROM segments)"},
    {"records end where their segment does",
     "SELECT hex(id) FROM blobs JOIN segments ON container = segment"
     " WHERE offset + length > end_bytes"},
    {"no two blobs share bytes",
     "SELECT hex(id) FROM (SELECT id, container AS here, offset,"
     " lag(offset + length) OVER (PARTITION BY container ORDER BY offset) AS before_ends"
     " FROM blobs WHERE container IS NOT NULL) WHERE before_ends > offset"},
    {"the live bytes of a segment are those of its blobs",
     "SELECT segment || ': ' || live_bytes FROM segments WHERE live_bytes !="
     " (SELECT coalesce(sum(length), 0) FROM blobs WHERE container = segment)"},
    {"nothing that lives is to be reclaimed",
     "SELECT hex(id) FROM blobs JOIN reclaim ON blobs.container = reclaim.container"
     " WHERE reclaim.length = 0 OR (blobs.offset < reclaim.offset + reclaim.length"
     " AND reclaim.offset < blobs.offset + blobs.length)"},
    {"a sealed segment with nothing live is to be reclaimed",
     "SELECT segment FROM segments WHERE sealed AND live_bytes = 0"
     " AND segment NOT IN (SELECT container FROM reclaim WHERE length = 0)"},
    {"the totals are those of the rows",
     "SELECT blobs || ' blobs, ' || bytes || ' bytes' FROM (SELECT sum(blobs) AS blobs,"
     " sum(bytes) AS bytes FROM totals) WHERE blobs != (SELECT count(*) FROM blobs)"
     " OR bytes != (SELECT coalesce(sum(size), 0) FROM blobs)"},
}};

using connection = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

connection open_catalog(const std::filesystem::path& path) {
    sqlite3* opened = nullptr;
    // Not read-only: a catalog whose log was not folded in can only be read by one who may write.
    const int failed = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
    connection catalog(opened, sqlite3_close);
    if (failed != SQLITE_OK) throw std::runtime_error("cannot open " + path.string());
    return catalog;
}

std::vector<std::vector<std::string>> query(sqlite3* catalog, const char* sql) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(catalog, sql, -1, &prepared, nullptr) != SQLITE_OK)
        throw std::runtime_error(std::string(sqlite3_errmsg(catalog)) + " in " + sql);
    const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> owned(prepared,
                                                                           sqlite3_finalize);
    std::vector<std::vector<std::string>> rows;
    while (sqlite3_step(prepared) == SQLITE_ROW) {
        std::vector<std::string> row;
        for (int column = 0; column < sqlite3_column_count(prepared); ++column) {
            const auto* text = sqlite3_column_text(prepared, column);
            row.emplace_back(text ? reinterpret_cast<const char*>(text) : "");
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

struct segment {
    bool sealed;
    std::uint64_t end_bytes;
    std::uint64_t live_bytes;
};

std::map<std::uint64_t, segment> known_segments(sqlite3* catalog) {
    std::map<std::uint64_t, segment> known;
    for (const auto& row :
         query(catalog, "SELECT segment, sealed, end_bytes, live_bytes FROM segments"))
        known[std::stoull(row[0])] = {row[1] == "1", std::stoull(row[2]), std::stoull(row[3])};
    return known;
}

// The other direction: the files against the rows.
void compare_files(const std::filesystem::path& folder,
                   const std::map<std::uint64_t, segment>& known,
                   std::vector<std::string>& complaints) {
    std::map<std::uint64_t, std::uint64_t> sizes;
    if (std::filesystem::exists(folder))
        for (const auto& entry : std::filesystem::directory_iterator(folder)) {
            const std::string name = entry.path().filename().string();
            const auto number = segment_of(name);
            if (number && known.contains(*number))
                sizes[*number] = entry.file_size();
            else
                complaints.push_back("segments/" + name + " is in no row");
        }
    for (const auto& [number, row] : known) {
        const auto file = sizes.find(number);
        const std::string name = segment_name(number);
        if (file == sizes.end()) {
            if (row.live_bytes > 0) complaints.push_back(name + " has live bytes and no file");
        } else if (row.sealed && row.live_bytes > 0 && file->second != row.end_bytes) {
            complaints.push_back(name + " is sealed at " + std::to_string(row.end_bytes) +
                                 " and is " + std::to_string(file->second) + " bytes long");
        }
    }
}

}  // namespace

std::vector<std::string> unaccounted(const std::filesystem::path& data_dir) {
    std::vector<std::string> complaints;
    const connection catalog = open_catalog(data_dir / "catalog.db");
    for (const rule& each : rules)
        for (const auto& row : query(catalog.get(), each.sql))
            complaints.push_back(std::string("not so: ") + each.claim + ": " + row[0]);
    for (const auto& row : query(catalog.get(), "PRAGMA quick_check"))
        if (row[0] != "ok") complaints.push_back("quick_check: " + row[0]);
    compare_files(data_dir / "segments", known_segments(catalog.get()), complaints);
    return complaints;
}

}  // namespace cairn::test
