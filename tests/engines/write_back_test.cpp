// What is brought to the disk early is on its way before anybody syncs.
#include "engines/sqlite/write_back.hpp"

#include "tests/support/bodies.hpp"
#include "tests/support/temp_dir.hpp"

#include <chrono>
#include <cstdint>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cairn {
namespace {

// Of a file's pages in memory, those that are not on the disk; nothing where the kernel does not
// tell (before Linux 6.5).
std::optional<std::uint64_t> unwritten_pages(int descriptor) {
    constexpr long cachestat = 451;  // the number on every architecture
    const struct {
        std::uint64_t offset;
        std::uint64_t size_bytes;  // 0: to the end
    } whole{0, 0};
    struct {
        std::uint64_t cached, dirty, being_written, evicted, recently_evicted;
    } now{};
    if (::syscall(cachestat, descriptor, &whole, &now, 0) != 0) return std::nullopt;
    return now.dirty + now.being_written;
}

class written_file {
public:
    written_file() : descriptor_(::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        const buffer bytes = test::random_body(4 << 20, 1);
        REQUIRE(::write(descriptor_, bytes.data(), bytes.size()) == 4 << 20);
    }
    ~written_file() { ::close(descriptor_); }
    written_file(const written_file&) = delete;
    written_file& operator=(const written_file&) = delete;

    std::filesystem::path path() const { return folder_ / "log"; }
    int descriptor() const { return descriptor_; }

private:
    test::temp_dir folder_;
    int descriptor_;
};

TEST_CASE("sqlite: what the log was told to bring to the disk gets there without a sync") {
    const written_file log;
    if (!unwritten_pages(log.descriptor())) {
        MESSAGE("this kernel does not tell which pages are dirty: nothing to look at");
        return;
    }
    REQUIRE(*unwritten_pages(log.descriptor()) > 0);
    sqlite::write_back early(log.path());
    early.begin();
    // By itself the kernel would begin after 30 seconds.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(15);
    while (*unwritten_pages(log.descriptor()) > 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    CHECK(*unwritten_pages(log.descriptor()) == 0);
}

TEST_CASE("sqlite: a log that cannot be opened is left to its syncs") {
    sqlite::write_back none("/nowhere/catalog.db-wal");
    none.begin();
    sqlite::write_back other;
    other = std::move(none);
    other.begin();
}

}  // namespace
}  // namespace cairn
