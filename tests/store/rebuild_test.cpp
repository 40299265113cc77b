// What a folder's store comes back to when its catalog is damaged, lost or old.
#include "store/rebuild.hpp"

#include "engines/checksums.hpp"
#include "engines/segments/record.hpp"
#include "engines/segments/segment_name.hpp"
#include "store/open_store.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/forwarding_files.hpp"
#include "tests/support/results.hpp"
#include "tests/support/temp_dir.hpp"

#include <cstring>
#include <doctest/doctest.h>
#include <fstream>

namespace cairn {
namespace {

namespace fs = std::filesystem;
using test::random_body;

class fixture {
public:
    // Opens the store, works on it, closes it.
    template <class Work>
    void with_store(Work work) {
        auto opened = open();
        REQUIRE(opened.has_value());
        work(**opened);
        run((*opened)->close());
    }
    result<std::unique_ptr<store>> open() {
        store_options options;
        options.data = data;
        return run(open_store(threads, options));
    }
    result<rebuild_report> rebuild(fs::path from = {}, bool force = false) {
        rebuild_options options;
        options.data = data;
        options.from = std::move(from);
        options.force = force;
        rebuild_watcher nobody;
        return run(cairn::rebuild(threads, options, nobody));
    }
    blob_id put(store& to, const buffer& body) {
        buffer_source from(body);
        const auto stored = run(to.put(from, std::nullopt));
        REQUIRE(stored.has_value());
        return stored->id;
    }
    bool has(store& in, const buffer& body) {
        const byte_range whole;
        auto opened = run(in.get(blob_id::of(body.view()), whole));
        if (!opened || !*opened) return false;
        const auto bytes = run(test::read_all(**opened));
        return bytes.has_value() && *bytes == body.text();
    }
    bool remove(store& from, const buffer& body) {
        return run(from.remove(blob_id::of(body.view()))).value();
    }
    void damage_catalog() {
        std::fstream file(data / "catalog.db", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(0);
        file << std::string(64 << 10, '\xaa');
    }
    // The one that holds records.
    std::uint64_t only_segment() {
        std::vector<std::uint64_t> found;
        for (const auto& each : fs::directory_iterator(data / "segments")) {
            if (each.file_size() > 0) found.push_back(*segment_of(each.path().filename().string()));
        }
        REQUIRE(found.size() == 1);
        return found.front();
    }
    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }

    test::temp_dir dir;
    fs::path data = dir / "store";
    runtime threads{{.threads = 2, .blocking_threads = 2}};

    const buffer small = random_body(100, 1);
    const buffer large = random_body(100'000, 2);
    const buffer larger = random_body(5 << 20, 3);  // a segment of its own
    const buffer late_small = random_body(100, 4);
    const buffer late_large = random_body(200'000, 5);
};

// A disk on which no file of a segment can be synced.
class failing_syncs final : public forwarding_file_system {
public:
    explicit failing_syncs(std::unique_ptr<file_system> real)
        : forwarding_file_system(*real), real_(std::move(real)) {}

    awaitable<result<std::shared_ptr<file>>> open(fs::path path, open_mode mode) override {
        const bool is_segment = path.parent_path().filename() == "segments";
        auto opened = co_await forwarding_file_system::open(std::move(path), mode);
        if (!opened || !is_segment) co_return opened;
        co_return std::make_shared<failing>(std::move(*opened));
    }

private:
    class failing final : public forwarding_file {
    public:
        using forwarding_file::forwarding_file;
        awaitable<result<void>> sync(byte_range) override { co_return system_error_from(EIO); }
    };
    const std::unique_ptr<file_system> real_;
};

// A disk that cannot read one block of its segments.
class bad_block final : public forwarding_file_system {
public:
    bad_block(std::unique_ptr<file_system> real, std::uint64_t offset)
        : forwarding_file_system(*real), real_(std::move(real)), offset_(offset) {}

    awaitable<result<std::shared_ptr<file>>> open(fs::path path, open_mode mode) override {
        const bool is_segment = path.parent_path().filename() == "segments";
        auto opened = co_await forwarding_file_system::open(std::move(path), mode);
        if (!opened || !is_segment) co_return opened;
        co_return std::make_shared<failing>(std::move(*opened), offset_);
    }

private:
    class failing final : public forwarding_file {
    public:
        failing(std::shared_ptr<file> real, std::uint64_t offset)
            : forwarding_file(std::move(real)), offset_(offset) {}
        awaitable<result<buffer>> read_at(std::uint64_t offset, std::size_t size_bytes) override {
            const bool meets = offset < offset_ + 4096 && offset_ < offset + size_bytes;
            if (meets) co_return system_error_from(EIO);
            co_return co_await forwarding_file::read_at(offset, size_bytes);
        }
        std::optional<buffer> try_read_at(std::uint64_t, std::size_t) override {
            return std::nullopt;
        }

    private:
        const std::uint64_t offset_;
    };

    const std::unique_ptr<file_system> real_;
    const std::uint64_t offset_;
};

// A whole record of one block, as it would lie in that place of that segment.
void write_record(buffer& to, std::uint64_t segment, std::uint64_t offset) {
    const buffer body = random_body(3000, 1000 + offset);
    const checksums sums = checksums::of(body.view());
    segment_record::footer about;
    about.id = blob_id::of(body.view());
    about.stored = {{segment, offset, 4096}, body.size(), sums.digest()};
    const buffer tail = segment_record::encode_tail(about, sums);
    REQUIRE(body.size() + tail.size() == 4096);
    std::memcpy(to.mutable_data() + offset, body.data(), body.size());
    std::memcpy(to.mutable_data() + offset + body.size(), tail.data(), tail.size());
}

}  // namespace

TEST_CASE(
    "rebuild: with a backup, all that the backup knows and larger blobs put since come back") {
    fixture test;
    test.with_store([&](store& blobs) {
        test.put(blobs, test.small);
        test.put(blobs, test.large);
        REQUIRE(test.run(blobs.back_up()).has_value());
        test.put(blobs, test.late_small);
        test.put(blobs, test.late_large);
        test.put(blobs, test.larger);
    });
    test.damage_catalog();
    CHECK_FALSE(test.open().has_value());

    const auto report = test.rebuild();
    REQUIRE(report.has_value());
    CHECK(report->taken_at_us.has_value());
    CHECK(report->kept.blobs == 2);
    CHECK(report->recovered.blobs == 2);
    CHECK(report->lost.blobs == 0);
    CHECK(fs::exists(report->old_catalog));
    for (const auto& each : fs::directory_iterator(test.data)) {
        CHECK(each.path().filename().string().find("rebuilt") == std::string::npos);
    }
    for (int boot = 0; boot < 2; ++boot) {
        test.with_store([&](store& blobs) {
            CHECK(test.has(blobs, test.small));
            CHECK(test.has(blobs, test.large));
            CHECK(test.has(blobs, test.late_large));
            CHECK(test.has(blobs, test.larger));
            CHECK_FALSE(test.has(blobs, test.late_small));
            const auto status = test.run(blobs.status());
            CHECK(status->blob_count == 4);
            CHECK(status->blob_bytes == 100 + 100'000 + 200'000 + (5 << 20));
        });
    }
}

TEST_CASE("rebuild: without a backup the larger blobs come back") {
    fixture test;
    test.with_store([&](store& blobs) {
        test.put(blobs, test.small);
        test.put(blobs, test.large);
        test.put(blobs, test.larger);
    });
    fs::remove(test.data / "catalog.db");
    const auto report = test.rebuild();
    REQUIRE(report.has_value());
    CHECK(report->from.empty());
    CHECK(report->recovered.blobs == 2);
    test.with_store([&](store& blobs) {
        CHECK_FALSE(test.has(blobs, test.small));
        CHECK(test.has(blobs, test.large));
        CHECK(test.has(blobs, test.larger));
        test.put(blobs, test.small);  // what is put again goes where nothing else lies
        test.put(blobs, test.late_large);
        CHECK(test.has(blobs, test.large));
    });
}

TEST_CASE("rebuild: a sound catalog is left alone unless a person insists") {
    fixture test;
    test.with_store([&](store& blobs) { test.put(blobs, test.small); });
    const auto asked = test.rebuild();
    REQUIRE(asked.has_value());
    CHECK(asked->needless);
    test.with_store([&](store& blobs) { CHECK(test.has(blobs, test.small)); });
    const auto forced = test.rebuild({}, true);
    REQUIRE(forced.has_value());
    CHECK_FALSE(forced->needless);
    test.with_store([&](store& blobs) { CHECK_FALSE(test.has(blobs, test.small)); });
}

TEST_CASE("rebuild: a record whose bytes do not hash to its id stays out") {
    fixture test;
    test.with_store([&](store& blobs) {
        test.put(blobs, test.large);
        test.put(blobs, test.larger);
    });
    const auto segment = fs::directory_iterator(test.data / "segments")->path();
    std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file.put('\x5a');
    file.seekp(1001);
    file.put('\xa5');
    file.close();
    fs::remove(test.data / "catalog.db");
    const auto report = test.rebuild();
    REQUIRE(report.has_value());
    CHECK(report->bad_records == 1);
    CHECK(report->recovered.blobs == 1);
}

TEST_CASE("rebuild: what was removed before a sealed segment was backed up stays removed") {
    fixture test;
    test.with_store([&](store& blobs) {
        test.put(blobs, test.large);
        test.put(blobs, test.late_large);
        CHECK(test.remove(blobs, test.large));
    });
    test.with_store([&](store& blobs) {  // the start sealed the segment
        REQUIRE(test.run(blobs.back_up()).has_value());
    });
    test.damage_catalog();
    const auto report = test.rebuild();
    REQUIRE(report.has_value());
    CHECK(report->recovered.blobs == 0);
    test.with_store([&](store& blobs) {
        CHECK_FALSE(test.has(blobs, test.large));
        CHECK(test.has(blobs, test.late_large));
    });
}

TEST_CASE(
    "rebuild: an older catalog that was put back is refused, and is a beginning all the same") {
    fixture test;
    test.with_store([&](store& blobs) { test.put(blobs, test.small); });
    fs::copy_file(test.data / "catalog.db", test.dir / "old.db");
    test.with_store([&](store& blobs) { test.put(blobs, test.large); });
    fs::remove(test.data / "catalog.db-wal");
    fs::copy_file(test.dir / "old.db", test.data / "catalog.db",
                  fs::copy_options::overwrite_existing);
    for (int i = 0; i < 3; ++i) CHECK(test.open().error() == errc::restored_copy);

    const auto report = test.rebuild(test.data / "catalog.db");
    REQUIRE(report.has_value());
    CHECK(report->kept.blobs == 1);
    CHECK(report->recovered.blobs == 1);
    test.with_store([&](store& blobs) {
        CHECK(test.has(blobs, test.small));
        CHECK(test.has(blobs, test.large));
    });
}

TEST_CASE("rebuild: a row whose segment is gone goes, and is counted") {
    fixture test;
    test.with_store([&](store& blobs) {
        test.put(blobs, test.small);
        test.put(blobs, test.larger);
        REQUIRE(test.run(blobs.back_up()).has_value());
    });
    fs::remove_all(test.data / "segments");
    test.damage_catalog();
    const auto report = test.rebuild();
    REQUIRE(report.has_value());
    CHECK(report->kept.blobs == 1);
    CHECK(report->lost.blobs == 1);
    test.with_store([&](store& blobs) {
        CHECK(test.has(blobs, test.small));
        CHECK(test.run(blobs.status())->blob_count == 1);
        test.put(blobs, test.larger);
        CHECK(test.has(blobs, test.larger));
    });
}

TEST_CASE("rebuild: ended between its renames, the folder is refused until it is run again") {
    fixture test;
    test.with_store([&](store& blobs) { test.put(blobs, test.large); });
    fs::rename(test.data / "catalog.db", test.dir / "aside.db");
    CHECK(test.open().error() == errc::absent);
    CHECK_FALSE(fs::exists(test.data / "catalog.db"));  // it would be an empty one
    REQUIRE(test.rebuild({}, true).has_value());
    test.with_store([&](store& blobs) { CHECK(test.has(blobs, test.large)); });
}

TEST_CASE(
    "rebuild: what is no catalog, or a damaged one, is no beginning, and nothing is changed") {
    fixture test;
    test.with_store([&](store& blobs) { test.put(blobs, test.small); });
    std::ofstream(test.dir / "other.db") << std::string(100'000, 'x');
    CHECK_FALSE(test.rebuild(test.dir / "other.db", true).has_value());
    test.with_store([&](store& blobs) { CHECK(test.has(blobs, test.small)); });
}

TEST_CASE("rebuild: bytes that it makes blobs of are synced before their rows are") {
    fixture test;
    test.with_store([&](store& blobs) {
        test.put(blobs, test.large);
        test.put(blobs, test.larger);
    });
    fs::remove(test.data / "catalog.db");
    rebuild_options options;
    options.data = test.data;
    options.wrap_files = [](std::unique_ptr<file_system> real) {
        return std::make_unique<failing_syncs>(std::move(real));
    };
    rebuild_watcher nobody;
    CHECK_FALSE(test.run(cairn::rebuild(test.threads, options, nobody)).has_value());
    CHECK_FALSE(fs::exists(test.data / "catalog.db"));
    CHECK(test.rebuild()->recovered.blobs == 2);
}

TEST_CASE("rebuild: a block that the disk cannot read costs the blob that lies there, no other") {
    fixture test;
    test.with_store([&](store& blobs) {
        test.put(blobs, test.large);
        test.put(blobs, test.late_large);
        test.put(blobs, test.small);
    });
    fs::remove(test.data / "catalog.db");
    const auto on_bad_disk = [](std::unique_ptr<file_system> real) {
        return std::make_unique<bad_block>(std::move(real), 8 * 4096);
    };
    rebuild_options options;
    options.data = test.data;
    options.wrap_files = on_bad_disk;
    rebuild_watcher nobody;
    const auto report = test.run(cairn::rebuild(test.threads, options, nobody));
    REQUIRE(report.has_value());
    CHECK(report->unreadable_bytes == 4096);
    CHECK(report->bad_records == 1);
    CHECK(report->recovered.blobs == 1);
    store_options again;
    again.data = test.data;
    again.wrap_files = on_bad_disk;
    const auto opened = test.run(open_store(test.threads, again));
    REQUIRE(opened.has_value());
    CHECK_FALSE(test.has(**opened, test.large));
    CHECK(test.has(**opened, test.late_large));
    test.run((*opened)->close());
}

TEST_CASE("rebuild: where the last record cannot be read, the store opens all the same") {
    fixture test;
    test.with_store([&](store& blobs) {
        test.put(blobs, test.large);
        REQUIRE(test.run(blobs.back_up()).has_value());  // it knows the segment as open
        test.put(blobs, test.late_large);
    });
    fs::remove(test.data / "catalog.db");
    const std::uint64_t in_late_large = segment_record::length_bytes(test.large.size()) + 8192;
    const auto on_bad_disk = [&](std::unique_ptr<file_system> real) {
        return std::make_unique<bad_block>(std::move(real), in_late_large);
    };
    rebuild_options options;
    options.data = test.data;
    options.wrap_files = on_bad_disk;
    rebuild_watcher nobody;
    const auto report = test.run(cairn::rebuild(test.threads, options, nobody));
    REQUIRE(report.has_value());
    CHECK(report->kept.blobs == 1);
    CHECK(report->bad_records == 1);
    store_options again;
    again.data = test.data;
    again.wrap_files = on_bad_disk;
    const auto opened = test.run(open_store(test.threads, again));
    REQUIRE(opened.has_value());
    CHECK(test.has(**opened, test.large));
    CHECK_FALSE(test.has(**opened, test.late_large));
    test.run((*opened)->close());
}

TEST_CASE("rebuild: what looks like records in the body of a blob is that blob's, and no blob") {
    fixture twin;
    twin.with_store([&](store& blobs) { twin.put(blobs, twin.larger); });
    const std::uint64_t own_segment = twin.only_segment();
    fixture test;
    buffer body = random_body(5 << 20, 6);
    for (std::uint64_t i = 0; i < 300; ++i) write_record(body, own_segment, i * 4096);
    test.with_store([&](store& blobs) { test.put(blobs, body); });
    CHECK(test.only_segment() == own_segment);
    fs::remove(test.data / "catalog.db");
    const auto report = test.rebuild();
    REQUIRE(report.has_value());
    CHECK(report->recovered.blobs == 1);
    test.with_store([&](store& blobs) { CHECK(test.has(blobs, body)); });
}

TEST_CASE("rebuild: a folder that a process has open is left alone") {
    fixture test;
    test.with_store([&](store&) { CHECK(test.rebuild().error() == errc::already_locked); });
}

}  // namespace cairn
