// What time, a bad cable or a lost write makes of a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>

namespace cairn::test {

// The bytes that are no longer what they were: [begin, end), in a file that may have become shorter
// or longer.
struct damage {
    std::string what;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

// Flips a bit, sets a byte, zeroes a sector or a page, copies a page over another, cuts the file or
// adds garbage to its end, as `random` says. Holes at the end of a file are left alone.
damage rot(const std::filesystem::path& file, std::mt19937_64& random);

}  // namespace cairn::test
