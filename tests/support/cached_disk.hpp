// A disk with a volatile write cache, and what is left of it when the power goes.
//
// Writes are readable at once and durable only once flush() returned, in whatever order the disk
// likes until then. cut() writes the image that a power cut at this moment could leave: all that
// was flushed, a random part of what was not, and perhaps one write torn between two sectors.
//
// Two sparse files stand behind it: `current`, what reads see, and `durable`, what flushes cover.
// One thread at a time. Every member throws std::system_error when a file fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace cairn::test {

class cached_disk {
public:
    static constexpr std::size_t sector_bytes = 512;

    struct cut_report {
        std::size_t unflushed = 0;  // writes that no flush covered
        std::size_t kept = 0;       // of those, in the image
        bool torn = false;          // one of the kept ones only in part
    };

    // Both files are made in `folder`, which must not hold them yet.
    cached_disk(const std::filesystem::path& folder, std::uint64_t size_bytes);
    ~cached_disk();
    cached_disk(const cached_disk&) = delete;
    cached_disk& operator=(const cached_disk&) = delete;

    std::uint64_t size_bytes() const { return size_bytes_; }

    // Bytes read; fewer only at the end of the disk.
    std::size_t read(std::uint64_t offset, std::span<std::byte> into) const;
    void write(std::uint64_t offset, std::span<const std::byte> bytes);
    // The range reads as zeros, and becomes durable as a write does.
    void discard(std::uint64_t offset, std::uint64_t size_bytes);
    void flush();

    // The same seed over the same writes makes the same image. The disk goes on unharmed.
    cut_report cut(const std::filesystem::path& image, std::uint64_t seed) const;

private:
    struct change {
        std::uint64_t offset;
        std::uint64_t size_bytes;
        std::vector<std::byte> bytes;  // empty: a discard
    };
    static void apply(int file, const change& each);

    std::uint64_t size_bytes_;
    int current_ = -1;
    int durable_ = -1;
    std::vector<change> unflushed_;  // oldest first
};

}  // namespace cairn::test
