// The crash tests' own checks: each must see the damage that it is there for.
#include "tests/fault/audit.hpp"
#include "tests/fault/ledger.hpp"
#include "tests/fault/workload.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sqlite3.h>
#include <string>
#include <vector>

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

// A closed store with a few blobs of every kind.
struct closed_store {
    temp_dir folder;
    fs::path data_dir = folder / "data";
    ledger promises;

    closed_store() {
        server_process server(program_under_test(), data_dir);
        fill(promises, server.port(), 20, 1);
        {
            workload load(promises, server.port(), 1, {.connections = 2, .size_max = 300'000});
            while (promises.size() < 60) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        REQUIRE(server.stop().status == 0);
    }

    void change(const char* sql) const {
        sqlite3* catalog = nullptr;
        REQUIRE(sqlite3_open((data_dir / "catalog.db").c_str(), &catalog) == SQLITE_OK);
        CHECK(sqlite3_exec(catalog, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
        CHECK(sqlite3_changes(catalog) > 0);
        sqlite3_close(catalog);
    }

    fs::path some_segment() const { return fs::directory_iterator(data_dir / "segments")->path(); }
};

bool says(const std::vector<std::string>& complaints, const std::string& words) {
    return std::any_of(complaints.begin(), complaints.end(), [&](const std::string& each) {
        return each.find(words) != std::string::npos;
    });
}

}  // namespace

TEST_CASE("audit: a store that was closed in peace is accounted for") {
    const closed_store store;
    for (const std::string& complaint : unaccounted(store.data_dir)) FAIL_CHECK(complaint);
}

TEST_CASE("audit: a store whose blobs are all in rows is accounted for") {
    const closed_store store;
    store.change("DELETE FROM blobs WHERE container IS NOT NULL");
    store.change("DELETE FROM segments");
    store.change(
        "UPDATE totals SET blobs = (SELECT count(*) FROM blobs),"
        " bytes = (SELECT sum(size) FROM blobs)");
    std::filesystem::remove_all(store.data_dir / "segments");
    for (const std::string& complaint : unaccounted(store.data_dir)) FAIL_CHECK(complaint);
}

TEST_CASE("audit: a blob whose segment no row knows is found") {
    const closed_store store;
    store.change("DELETE FROM segments");
    CHECK(says(unaccounted(store.data_dir), "every blob in bulk lies in a segment"));
}

TEST_CASE("audit: a file that no row knows is found, and a row whose file is gone") {
    const closed_store store;
    std::ofstream(store.data_dir / "segments" / "77-1") << "orphan";
    CHECK(says(unaccounted(store.data_dir), "segments/77-1 is in no row"));
    const fs::path kept = store.some_segment();
    store.change("UPDATE segments SET live_bytes = live_bytes + 4096");
    CHECK(says(unaccounted(store.data_dir), "the live bytes of a segment"));
    fs::remove_all(store.data_dir / "segments");
    CHECK(says(unaccounted(store.data_dir), "has live bytes and no file"));
}

TEST_CASE("audit: bytes that two blobs claim, or a blob and the reclaimer, are found") {
    const closed_store store;
    store.change(
        "INSERT INTO reclaim(container, offset, length) SELECT container, offset, length"
        " FROM blobs WHERE container IS NOT NULL LIMIT 1");
    CHECK(says(unaccounted(store.data_dir), "nothing that lives is to be reclaimed"));
    store.change(
        "UPDATE blobs SET (container, offset) = (SELECT container, offset FROM blobs"
        " WHERE container IS NOT NULL LIMIT 1) WHERE container IS NOT NULL");
    CHECK(says(unaccounted(store.data_dir), "no two blobs share bytes"));
}

TEST_CASE("audit: a blob that left the totals behind is found") {
    const closed_store store;
    store.change("DELETE FROM blobs WHERE value IS NOT NULL");
    CHECK(says(unaccounted(store.data_dir), "the totals are those of the rows"));
}

TEST_CASE("promises: a lost blob, one that came back, and one that nobody put are found") {
    closed_store store;
    server_process server(program_under_test(), store.data_dir);
    std::vector<promised_blob> all = store.promises.copy();
    CHECK(broken_promises(server.port(), all).empty());
    CHECK(broken_listing(server.port(), all).empty());

    std::vector<promised_blob> lost = all;
    promised_blob never_put = all.front();
    never_put.id.bytes[0] ^= std::byte{1};
    lost.push_back(never_put);
    CHECK(says(broken_promises(server.port(), lost), "acknowledged: status 404"));
    CHECK(says(broken_listing(server.port(), lost), "is stored and not listed"));

    std::vector<promised_blob> returned = all;
    returned.front().state = promise::removed;
    CHECK(says(broken_promises(server.port(), returned), "deleted: status 200"));
    CHECK(says(broken_listing(server.port(), returned), "is listed, and nobody put it"));
}

TEST_CASE("promises: bytes that changed on the disk are never served") {
    closed_store store;
    for (const auto& entry : fs::directory_iterator(store.data_dir / "segments")) {
        const auto size = fs::file_size(entry.path());
        fs::resize_file(entry.path(), 0);
        fs::resize_file(entry.path(), size);
    }
    server_process server(program_under_test(), store.data_dir);
    const auto complaints = broken_promises(server.port(), store.promises.copy());
    CHECK_FALSE(complaints.empty());
    CHECK_FALSE(says(complaints, "torn"));
}

}  // namespace cairn::test
