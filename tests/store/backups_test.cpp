#include "store/backups.hpp"

#include "engines/sqlite/schema.hpp"
#include "engines/sqlite/sqlite_catalog.hpp"
#include "runtime/deadline.hpp"
#include "runtime/task_scope.hpp"
#include "store/open_store.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/forwarding_files.hpp"
#include "tests/support/temp_dir.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cairn {
namespace {

namespace fs = std::filesystem;
using test::random_body;

class fixture {
public:
    explicit fixture(store_options options = {}) {
        options.data = data;
        blobs = run(open_store(threads, options)).value();
    }
    ~fixture() { run(blobs->close()); }

    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }
    void put(std::uint64_t seed) {
        buffer_source body(random_body(4000, seed));
        REQUIRE(run(blobs->put(body, std::nullopt)).has_value());
    }
    std::vector<std::string> names() const {
        std::vector<std::string> found;
        if (!fs::exists(data / "backups")) return found;
        for (const auto& each : fs::directory_iterator(data / "backups")) {
            found.push_back(each.path().filename());
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    test::temp_dir dir;
    fs::path data = dir / "store";
    runtime threads{{.threads = 2, .blocking_threads = 2}};
    std::unique_ptr<store> blobs;
};

std::int64_t rows_in(const fs::path& catalog) {
    auto opened = sqlite::database::open(catalog, sqlite::role::reader);
    REQUIRE(opened.has_value());
    CHECK(sqlite::integrity_complaints(*opened)->empty());
    auto count = opened->prepare("SELECT count(*) FROM blobs");
    REQUIRE(count.has_value());
    REQUIRE(count->step().value());
    return count->integer(0);
}

// No room beyond what a test says.
class small_disk final : public forwarding_file_system {
public:
    small_disk(std::unique_ptr<file_system> real, std::uint64_t free)
        : forwarding_file_system(*real), real_(std::move(real)), free_(free) {}
    awaitable<result<disk_space>> space(fs::path) override {
        co_return disk_space{free_, std::uint64_t{1} << 40};
    }

private:
    const std::unique_ptr<file_system> real_;
    const std::uint64_t free_;
};

// Whether another process sees SQLite's shared lock of this one: without it a shell that reads the
// catalog takes itself for the last one and unlinks the log under the writer.
bool is_locked_by_us(const fs::path& catalog) {
    const pid_t child = ::fork();
    if (child == 0) {
        struct flock shared {};
        shared.l_type = F_WRLCK;
        shared.l_start = 0x40000002;
        shared.l_len = 510;
        const int file = ::open(catalog.c_str(), O_RDWR | O_CLOEXEC);
        const bool asked = file >= 0 && ::fcntl(file, F_GETLK, &shared) == 0;
        ::_exit(asked && shared.l_type != F_UNLCK && shared.l_pid == ::getppid() ? 0 : 1);
    }
    int ended = 1;
    REQUIRE(::waitpid(child, &ended, 0) == child);
    return ended == 0;
}

}  // namespace

TEST_CASE("backup: the catalog stays locked against other programs") {
    fixture test;
    test.put(1);
    CHECK(is_locked_by_us(test.data / "catalog.db"));
    REQUIRE(test.run(test.blobs->back_up()).has_value());
    CHECK(is_locked_by_us(test.data / "catalog.db"));
}

TEST_CASE("backup: a file of its own that is complete, sound, and opened by a rebuild only") {
    fixture test;
    test.put(1);
    const auto made = test.run(test.blobs->back_up());
    REQUIRE(made.has_value());
    CHECK(test.names() == std::vector<std::string>{made->name});
    const fs::path file = test.data / "backups" / made->name;
    CHECK(fs::file_size(file) == made->size_bytes);
    CHECK(rows_in(file) == 1);

    fs::create_directory(test.dir / "other");
    fs::copy_file(file, test.dir / "other" / "catalog.db");
    store_options options;
    options.data = test.dir / "other";
    CHECK(test.run(open_store(test.threads, options)).error() == errc::restored_copy);
}

TEST_CASE("backup: what is put meanwhile goes on and is in it, whole") {
    fixture test;
    for (std::uint64_t i = 0; i < 1500; ++i) test.put(i);  // several pieces of 2 MiB
    std::atomic<bool> over = false;
    std::uint64_t meanwhile = 0;
    std::thread writer([&] {
        runtime others{{.threads = 1, .blocking_threads = 1}};
        const auto put_all = [&]() -> awaitable<void> {
            while (!over) {
                buffer_source body(random_body(4000, 10'000 + meanwhile));
                const auto stored = co_await test.blobs->put(body, std::nullopt);
                CHECK(stored.has_value());
                ++meanwhile;
            }
        };
        others.run(put_all());
    });
    const auto made = test.run(test.blobs->back_up());
    over = true;
    writer.join();
    REQUIRE(made.has_value());
    const std::int64_t rows = rows_in(test.data / "backups" / made->name);
    CHECK(meanwhile > 0);
    CHECK(rows >= 1500);
    CHECK(rows <= std::int64_t(1500 + meanwhile));
}

TEST_CASE("backup: made by itself when the newest is old, and the newest two stay") {
    store_options options;
    options.backup_every = std::chrono::milliseconds(300);
    fixture test(options);
    std::vector<std::string> seen;
    for (int i = 0; i < 100 && seen.size() < 3; ++i) {
        test.run(sleep_for(std::chrono::milliseconds(50)));
        for (const std::string& name : test.names()) {
            if (backup_time(name) && std::count(seen.begin(), seen.end(), name) == 0) {
                seen.push_back(name);
            }
        }
    }
    CHECK(seen.size() >= 3);
    const auto made = test.run(test.blobs->back_up());
    if (!made) CHECK(made.error() == errc::overloaded);  // one is under way
    CHECK(test.names().size() <= backups_kept + 1);
}

TEST_CASE("backup: one that would fill the disk is refused, and nothing is left of it") {
    store_options options;
    options.wrap_files = [](std::unique_ptr<file_system> real) {
        return std::make_unique<small_disk>(std::move(real), 100'000);
    };
    fixture test(options);
    CHECK(test.run(test.blobs->back_up()).error() == errc::no_space);
    CHECK(test.names().empty());
}

TEST_CASE("backup: one is made also when an old one cannot be removed") {
    fixture test;
    for (const char* old : {"catalog-20200101T000000Z.db", "catalog-20200102T000000Z.db"}) {
        fs::create_directories(test.data / "backups" / old / "not to be unlinked");
    }
    test.put(1);
    const auto made = test.run(test.blobs->back_up());
    REQUIRE(made.has_value());
    CHECK(rows_in(test.data / "backups" / made->name) == 1);
}

TEST_CASE("backup: names are times, and other files are not backups") {
    CHECK(backup_time("catalog-20261130T225012Z.db") ==
          std::chrono::sys_days(std::chrono::year(2026) / 11 / 30) + std::chrono::hours(22) +
              std::chrono::minutes(50) + std::chrono::seconds(12));
    for (const char* name : {"", "catalog.new", "catalog-.db", "catalog-20261130T225012Z",
                             "catalog-20261130T225012Z.db-wal", "catalog-2026.db"}) {
        CAPTURE(name);
        CHECK_FALSE(backup_time(name));
    }
}

}  // namespace cairn
