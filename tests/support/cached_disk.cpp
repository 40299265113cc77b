#include "tests/support/cached_disk.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <linux/falloc.h>
#include <random>
#include <system_error>
#include <unistd.h>

namespace cairn::test {
namespace {

[[noreturn]] void fail(const char* doing) {
    throw std::system_error(errno, std::generic_category(), doing);
}

int make_image(const std::filesystem::path& path, std::uint64_t size_bytes) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) fail("create a disk image");
    if (::ftruncate(file, static_cast<off_t>(size_bytes)) != 0) fail("size a disk image");
    return file;
}

void write_all(int file, std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t done = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail("write to a disk image");
        bytes = bytes.subspan(static_cast<std::size_t>(done));
        offset += static_cast<std::uint64_t>(done);
    }
}

// Copies what is not a hole: images are mostly holes.
void copy_sparse(int from, int to, std::uint64_t size_bytes) {
    off_t begin = 0;
    while ((begin = ::lseek(from, begin, SEEK_DATA)) >= 0) {
        const off_t end = ::lseek(from, begin, SEEK_HOLE);
        if (end < 0) fail("find the holes of a disk image");
        off_t target = begin;
        while (begin < end) {
            const ssize_t done = ::copy_file_range(from, &begin, to, &target,
                                                   static_cast<std::size_t>(end - begin), 0);
            if (done <= 0) fail("copy a disk image");
        }
    }
    if (errno != ENXIO) fail("find the data of a disk image");
    if (::ftruncate(to, static_cast<off_t>(size_bytes)) != 0) fail("size a disk image");
}

}  // namespace

cached_disk::cached_disk(const std::filesystem::path& folder, std::uint64_t size_bytes)
    : size_bytes_(size_bytes),
      current_(make_image(folder / "current", size_bytes)),
      durable_(make_image(folder / "durable", size_bytes)) {}

cached_disk::~cached_disk() {
    ::close(current_);
    ::close(durable_);
}

std::size_t cached_disk::read(std::uint64_t offset, std::span<std::byte> into) const {
    std::size_t total = 0;
    while (total < into.size()) {
        const ssize_t done = ::pread(current_, into.data() + total, into.size() - total,
                                     static_cast<off_t>(offset + total));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail("read a disk image");
        if (done == 0) break;
        total += static_cast<std::size_t>(done);
    }
    return total;
}

void cached_disk::write(std::uint64_t offset, std::span<const std::byte> bytes) {
    unflushed_.push_back({offset, bytes.size(), {bytes.begin(), bytes.end()}});
    apply(current_, unflushed_.back());
}

void cached_disk::discard(std::uint64_t offset, std::uint64_t size_bytes) {
    unflushed_.push_back({offset, size_bytes, {}});
    apply(current_, unflushed_.back());
}

void cached_disk::flush() {
    for (const change& each : unflushed_) apply(durable_, each);
    unflushed_.clear();
}

void cached_disk::apply(int file, const change& each) {
    if (!each.bytes.empty()) {
        write_all(file, each.offset, each.bytes);
    } else if (::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                           static_cast<off_t>(each.offset),
                           static_cast<off_t>(each.size_bytes)) != 0) {
        fail("discard in a disk image");
    }
}

cached_disk::cut_report cached_disk::cut(const std::filesystem::path& image,
                                         std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    // Each share of surviving writes finds other bugs: none shows a missing flush, half a wrong
    // order, all a checksum that only a torn write would fail.
    constexpr std::array<double, 6> shares{0, 0.1, 0.5, 0.5, 0.9, 1};
    std::bernoulli_distribution survives(shares[random() % shares.size()]);
    std::vector<const change*> kept;
    for (const change& each : unflushed_)
        if (survives(random)) kept.push_back(&each);

    cut_report report{unflushed_.size(), kept.size(), false};
    const change* torn = nullptr;
    if (!kept.empty() && random() % 2 == 0) torn = kept[random() % kept.size()];
    const int file = make_image(image, 0);
    copy_sparse(durable_, file, size_bytes_);
    for (const change* each : kept) {
        if (each != torn || each->bytes.size() <= sector_bytes) {
            apply(file, *each);
            continue;
        }
        report.torn = true;
        const std::span<const std::byte> bytes = each->bytes;
        for (std::size_t at = 0; at < bytes.size(); at += sector_bytes)
            if (random() % 2 == 0)
                write_all(file, each->offset + at,
                          bytes.subspan(at, std::min(sector_bytes, bytes.size() - at)));
    }
    ::close(file);
    return report;
}

}  // namespace cairn::test
