// What a process and a store's folder take, sampled while the store is used, and the most of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace cairn::test {

struct footprint {
    std::uint64_t log_bytes = 0;  // SQLite's
    std::uint64_t memory_bytes = 0;
    std::size_t descriptors = 0;
    std::uint64_t segment_bytes = 0;  // space that segments take on the disk

    void take_larger(const footprint& other) {
        log_bytes = std::max(log_bytes, other.log_bytes);
        memory_bytes = std::max(memory_bytes, other.memory_bytes);
        descriptors = std::max(descriptors, other.descriptors);
        segment_bytes = std::max(segment_bytes, other.segment_bytes);
    }
};

inline std::uint64_t file_bytes(const std::filesystem::path& path) {
    std::error_code absent;
    const auto size_bytes = std::filesystem::file_size(path, absent);
    return absent ? 0 : size_bytes;
}

inline std::uint64_t bytes_in(const std::filesystem::path& folder) {
    std::uint64_t sum = 0;
    for (const auto& each : std::filesystem::directory_iterator(folder)) {
        sum += file_bytes(each.path());  // it may go meanwhile
    }
    return sum;
}

inline std::uint64_t resident_bytes() {
    std::ifstream counts("/proc/self/statm");
    std::uint64_t total = 0;
    std::uint64_t resident = 0;
    counts >> total >> resident;
    return resident * 4096;
}

inline footprint footprint_of(const std::filesystem::path& store) {
    const std::filesystem::directory_iterator open_files("/proc/self/fd");
    return {.log_bytes = file_bytes(store / "catalog.db-wal"),
            .memory_bytes = resident_bytes(),
            .descriptors = std::size_t(std::distance(begin(open_files), end(open_files))),
            .segment_bytes = bytes_in(store / "segments")};
}

}  // namespace cairn::test
