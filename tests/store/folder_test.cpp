#include "store/folder.hpp"

#include "io/open_file_system.hpp"
#include "tests/support/results.hpp"
#include "tests/support/temp_dir.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

namespace cairn {
namespace {

class fixture {
public:
    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }
    result<std::unique_ptr<folder>> open(std::filesystem::path at,
                                         bool allow_weak_storage = false) {
        return run(folder::open(threads, *files, std::move(at), allow_weak_storage));
    }

    test::temp_dir dir;
    runtime threads{{.threads = 1, .blocking_threads = 2}};
    std::unique_ptr<file_system> files = open_file_system(threads, io_choice::pool);
};

TEST_CASE("folder: it is made when it is not there, and locked while it is open") {
    fixture test;
    auto first = test.open(test.dir / "store");
    REQUIRE(first);
    CHECK(test.open(test.dir / "store").error() == errc::already_locked);
    first->reset();
    CHECK(test.open(test.dir / "store"));
}

TEST_CASE("folder: a parent that is missing is an error, not a guess") {
    fixture test;
    CHECK_FALSE(test.open(test.dir / "missing" / "store"));
}

TEST_CASE("folder: a catalog behind its folder is refused as a restored copy") {
    fixture test;
    auto store = test.open(test.dir / "store").value();
    CHECK(test.run(store->join_catalog("one", 1)));
    CHECK(test.run(store->join_catalog("one", 5)));
    CHECK(test.run(store->join_catalog("one", 5)).error() == errc::restored_copy);
    CHECK(test.run(store->join_catalog("one", 2)).error() == errc::restored_copy);
    CHECK(test.run(store->join_catalog("one", 6)));
}

TEST_CASE("folder: another folder's catalog, and a marker of another format, are refused") {
    fixture test;
    auto store = test.open(test.dir / "store").value();
    CHECK(test.run(store->join_catalog("one", 1)));
    CHECK(test.run(store->join_catalog("two", 9)).error() == errc::incompatible);
    for (const char* text : {"", "{", "[]", R"({"format":2,"catalog":"one","boot":1})",
                             R"({"format":1,"catalog":"one"})"}) {
        CAPTURE(text);
        std::ofstream(test.dir / "store" / "folder") << text;
        CHECK(test.run(store->join_catalog("one", 9)).error() == errc::incompatible);
    }
}

TEST_CASE("folder: storage that cannot keep the promise is refused, and labelled when allowed") {
    if (!std::filesystem::is_directory("/dev/shm")) {
        MESSAGE("skipped: there is no /dev/shm to try");
        return;
    }
    fixture test;
    const auto at = std::filesystem::path("/dev/shm") / test.dir.path().filename();
    CHECK(test.open(at).error() == errc::weak_storage);
    const auto allowed = test.open(at, true);
    REQUIRE(allowed);
    CHECK((*allowed)->weak());
    std::filesystem::remove_all(at);
    CHECK_FALSE(test.open(test.dir / "store").value()->weak());
}

}  // namespace
}  // namespace cairn
