// The measuring instrument first: a power-cut device that loses too little would prove anything.
#include "tests/support/power_cut_device.hpp"

#include "tests/support/cached_disk.hpp"
#include "tests/support/temp_dir.hpp"

#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace cairn::test {
namespace {

std::string contents(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

constexpr std::uint64_t disk_bytes = 64 * 1024;

}  // namespace

TEST_CASE("cached disk: what was flushed is in every image, and reads see what was not") {
    const temp_dir folder;
    cached_disk disk(folder.path(), disk_bytes);
    disk.write(4096, bytes_of("flushed"));
    disk.flush();
    disk.write(8192, bytes_of("in the cache"));
    std::vector<std::byte> seen(12);
    CHECK(disk.read(8192, seen) == 12);
    CHECK(seen ==
          std::vector<std::byte>(bytes_of("in the cache").begin(), bytes_of("in the cache").end()));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        disk.cut(folder / std::to_string(seed), seed);
        const std::string image = contents(folder / std::to_string(seed));
        CHECK(image.size() == disk_bytes);
        CHECK(image.substr(4096, 7) == "flushed");
    }
}

TEST_CASE("cached disk: an unflushed write is in some images and missing from others") {
    const temp_dir folder;
    cached_disk disk(folder.path(), disk_bytes);
    disk.write(0, bytes_of("first"));
    disk.write(4096, bytes_of("second"));
    int first_alone = 0;
    int second_alone = 0;
    int none = 0;
    for (std::uint64_t seed = 0; seed < 64; ++seed) {
        disk.cut(folder / std::to_string(seed), seed);
        const std::string image = contents(folder / std::to_string(seed));
        const bool first = image.starts_with("first");
        const bool second = image.substr(4096, 6) == "second";
        first_alone += first && !second;
        second_alone += second && !first;
        none += !first && !second;
    }
    CHECK(first_alone > 0);
    CHECK(second_alone > 0);
    CHECK(none > 0);
}

TEST_CASE("cached disk: a write is torn between two sectors, never within one") {
    const temp_dir folder;
    cached_disk disk(folder.path(), disk_bytes);
    disk.write(0, bytes_of(std::string(8 * cached_disk::sector_bytes, 'x')));
    int torn = 0;
    for (std::uint64_t seed = 0; seed < 64; ++seed) {
        const bool says_torn = disk.cut(folder / std::to_string(seed), seed).torn;
        const std::string image = contents(folder / std::to_string(seed));
        std::size_t kept = 0;
        for (std::size_t sector = 0; sector < 8; ++sector) {
            const std::string part =
                image.substr(sector * cached_disk::sector_bytes, cached_disk::sector_bytes);
            const auto letters = std::count(part.begin(), part.end(), 'x');
            CHECK((letters == 0 || letters == long(cached_disk::sector_bytes)));
            kept += letters != 0;
        }
        torn += says_torn && kept > 0 && kept < 8;
    }
    CHECK(torn > 0);
}

TEST_CASE("cached disk: an image is a function of its seed") {
    const temp_dir folder;
    cached_disk disk(folder.path(), disk_bytes);
    for (std::uint64_t at = 0; at < disk_bytes; at += 4096) disk.write(at, bytes_of("x"));
    disk.cut(folder / "a", 7);
    disk.cut(folder / "b", 7);
    CHECK(contents(folder / "a") == contents(folder / "b"));
}

TEST_CASE("power-cut device: a synced file outlives the cut, an unsynced one does not always") {
    if (const auto why = power_cuts_unavailable()) {
        const char* ci = std::getenv("CI");
        if (ci && std::string_view(ci) == "true") FAIL("no power cuts here: " << *why);
        MESSAGE("skipped: no power cuts here: " << *why);
        return;
    }
    const temp_dir images;
    power_cut_device device(std::getenv("CAIRN_POWER_CUT_DISK"), 128ull << 20);
    const std::string body(100'000, 'b');
    const auto store = [&](const char* name, bool synced) {
        const int file = ::open((device.path() / name).c_str(), O_WRONLY | O_CREAT, 0600);
        REQUIRE(file >= 0);
        CHECK(::write(file, body.data(), body.size()) == ssize_t(body.size()));
        if (synced) CHECK(::fsync(file) == 0);
        ::close(file);
    };
    store("synced", true);
    store("unsynced", false);
    device.cut(images / "image", 1);
    const mounted_image after(images / "image", images / "mounted");
    CHECK((contents(after.path() / "synced") == body));
    CHECK((contents(after.path() / "unsynced") != body));
}

}  // namespace cairn::test
