// Range fields against an oracle that shares no code and no idea with the parser: cases are made as
// numbers of 128 bits, rendered to text for the subject, and judged as numbers. Merging is judged
// by painting: an interval that cannot be left by a step of less than the gap is one part.
#include "http/range.hpp"

#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cairn {
namespace {

__extension__ typedef unsigned __int128 wide;
using kind = range_selection::kind;

std::string text_of(wide value) {
    std::string digits;
    do digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    while (value /= 10);
    return digits;
}

struct spec {
    std::optional<wide> first;  // missing: a suffix of `last` bytes
    std::optional<wide> last;

    std::string text() const {
        return (first ? text_of(*first) : "") + "-" + (last ? text_of(*last) : "");
    }
};

struct verdict {
    kind what = kind::whole;
    std::vector<std::pair<wide, wide>> parts;  // first and last byte
};

verdict oracle(const std::vector<spec>& specs, wide size) {
    if (specs.empty() || specs.size() > 64) return {};
    std::vector<std::pair<wide, wide>> found;
    for (const spec& each : specs) {
        if (each.first && each.last && *each.first > *each.last) return {};
        wide first = each.first ? *each.first : size - std::min(size, *each.last);
        wide last = each.first && each.last ? std::min(*each.last, size - 1) : size - 1;
        const bool nothing = size == 0 || first >= size || (!each.first && *each.last == 0);
        if (!nothing) found.emplace_back(first, last);
    }
    if (found.empty()) return {kind::unsatisfiable, {}};
    // Joins any two that touch or are near, until no two do.
    for (bool joined = true; joined;) {
        joined = false;
        for (std::size_t i = 0; i < found.size() && !joined; ++i) {
            for (std::size_t k = 0; k < found.size() && !joined; ++k) {
                if (i == k || found[k].first < found[i].first) continue;
                if (found[k].first > found[i].second + 128) continue;
                found[i].second = std::max(found[i].second, found[k].second);
                found.erase(found.begin() + static_cast<std::ptrdiff_t>(k));
                joined = true;
            }
        }
    }
    std::sort(found.begin(), found.end());
    return {kind::parts, found};
}

void compare(const std::string& field, const verdict& expected, std::uint64_t size) {
    CAPTURE(field);
    CAPTURE(size);
    const range_selection got = select_ranges(field, size);
    REQUIRE(got.what == expected.what);
    REQUIRE(got.parts.size() == expected.parts.size());
    for (std::size_t i = 0; i < got.parts.size(); ++i) {
        CHECK(wide(got.parts[i].offset) == expected.parts[i].first);
        CHECK(wide(got.parts[i].offset) + got.parts[i].size_bytes - 1 == expected.parts[i].second);
    }
}

const std::vector<std::uint64_t> sizes{0,
                                       1,
                                       2,
                                       4095,
                                       4096,
                                       4097,
                                       (1ULL << 31) - 1,
                                       1ULL << 31,
                                       (1ULL << 31) + 1,
                                       (1ULL << 32) - 1,
                                       1ULL << 32,
                                       (1ULL << 32) + 1,
                                       2'000'000};

// Numbers near everything that could go wrong: the ends of the blob, the gap, the widths of
// integers.
std::vector<wide> landmarks(std::uint64_t size) {
    std::vector<wide> list;
    const wide full = ~std::uint64_t{0};
    for (const wide center : {wide(0), wide(127), wide(128), wide(129), wide(size / 2), wide(size),
                              wide(1) << 31, wide(1) << 32, wide(1) << 63, full, full * 10 + 7}) {
        for (int step = -2; step <= 2; ++step) {
            if (step < 0 && center < wide(-step)) continue;
            list.push_back(center + wide(step));
        }
    }
    return list;
}

std::string field_of(const std::vector<spec>& specs, std::string_view comma = ",") {
    std::string field = "bytes=";
    for (const spec& each : specs) {
        if (&each != &specs.front()) field += comma;
        field += each.text();
    }
    return field;
}

}  // namespace

TEST_CASE("range: every single range near a landmark is answered as the oracle says") {
    std::size_t cases = 0;
    for (const std::uint64_t size : sizes) {
        const std::vector<wide> marks = landmarks(size);
        for (const wide first : marks) {
            compare(field_of({{first, std::nullopt}}), oracle({{first, std::nullopt}}, size), size);
            compare(field_of({{std::nullopt, first}}), oracle({{std::nullopt, first}}, size), size);
            for (const wide last : marks) {
                compare(field_of({{first, last}}), oracle({{first, last}}, size), size);
                ++cases;
            }
        }
    }
    CHECK(cases > 300 * sizes.size());
}

TEST_CASE("range: sets of ranges are sorted, cut and joined as the oracle says") {
    std::mt19937_64 random(20240607);
    for (const std::uint64_t size : sizes) {
        const std::vector<wide> marks = landmarks(size);
        for (int round = 0; round < 400; ++round) {
            std::vector<spec> specs;
            const std::size_t count = 1 + random() % 6;
            while (specs.size() < count) {
                const wide near = marks[random() % marks.size()] + random() % 300;
                switch (random() % 4) {
                    case 0: specs.push_back({std::nullopt, near}); break;
                    case 1: specs.push_back({near, std::nullopt}); break;
                    default: specs.push_back({near, near + random() % 200}); break;
                }
            }
            compare(field_of(specs, round % 2 ? "," : " ,\t"), oracle(specs, size), size);
        }
    }
}

TEST_CASE("range: a gap of 127 bytes is sent along, one of 128 is not") {
    CHECK(select_ranges("bytes=0-0,128-128", 1000).parts.size() == 1);
    CHECK(select_ranges("bytes=0-0,129-129", 1000).parts.size() == 2);
    CHECK(select_ranges("bytes=129-129,0-0", 1000).parts.at(0).offset == 0);
}

TEST_CASE("range: 64 ranges are served, 65 mean the whole blob") {
    std::vector<spec> specs;
    for (unsigned i = 0; i < 64; ++i) specs.push_back({wide(i * 1000), wide(i * 1000)});
    CHECK(select_ranges(field_of(specs), 1'000'000).parts.size() == 64);
    specs.push_back({wide(0), wide(0)});
    CHECK(select_ranges(field_of(specs), 1'000'000).what == kind::whole);
}

TEST_CASE("range: a field that is malformed or reversed is ignored") {
    for (const char* field : {"",
                              "bytes",
                              "bytes=",
                              "bytes=,",
                              "bytes= , ,",
                              "bytes=-",
                              "bytes=abc",
                              "bytes=1",
                              "bytes=--1",
                              "bytes=1--2",
                              "bytes=1-2-3",
                              "bytes=+1-2",
                              "bytes=1-+2",
                              "bytes=0x1-2",
                              "bytes=1 -2",
                              "bytes=1- 2",
                              "bytes=1-2;q=1",
                              "bytes=5-4",
                              "bytes=0-1,5-4",
                              "bytes=0-1,abc",
                              "bytes 0-1",
                              "bytes:0-1",
                              "bits=0-1",
                              "bytes=1.0-2",
                              "bytes=-1-",
                              "bytes=\xd9\xa1-2",
                              "bytes=99999999999999999999999-99999999999999999999998",
                              " bytes=0-1",
                              "bytes =0-1",
                              "items=0-1"}) {
        CAPTURE(field);
        CHECK(select_ranges(field, 1000).what == kind::whole);
        CHECK(select_ranges(field, 0).what == kind::whole);
    }
}

TEST_CASE("range: what the grammar allows beside plain lists is understood") {
    CHECK(select_ranges("Bytes=0-1", 10).what == kind::parts);
    CHECK(select_ranges("bytes=0-1,", 10).what == kind::parts);
    CHECK(select_ranges("bytes=,0-1,,\t ,", 10).what == kind::parts);
    CHECK(select_ranges("bytes=0000000000000000000000000001-1", 10).parts.at(0).offset == 1);
    CHECK(select_ranges("bytes=1-00000000000000000000000000000000001", 10).parts.at(0).size_bytes ==
          1);
}

TEST_CASE("range: nothing of an empty blob and no empty suffix can be sent") {
    for (const char* field : {"bytes=0-", "bytes=0-0", "bytes=-1", "bytes=-0", "bytes=5-9"}) {
        CHECK(select_ranges(field, 0).what == kind::unsatisfiable);
    }
    CHECK(select_ranges("bytes=-0", 10).what == kind::unsatisfiable);
    CHECK(select_ranges("bytes=-0,0-0", 10).what == kind::parts);
}

TEST_CASE("range: the table of how peers treat ranges holds for cairn") {
    constexpr std::uint64_t size = 2'000'000;
    const auto near = select_ranges("bytes=0-1,5-6", size);
    REQUIRE(near.parts.size() == 1);
    CHECK(near.parts[0].size_bytes == 7);
    CHECK(select_ranges("bytes=0-1,500-501", size).parts.size() == 2);
    CHECK(select_ranges("bytes=2000000-", size).what == kind::unsatisfiable);
    const auto same = select_ranges("bytes=0-0,0-0,0-0", size);
    REQUIRE(same.parts.size() == 1);
    CHECK(same.parts[0].size_bytes == 1);
    const auto clamped = select_ranges("bytes=1999990-3000000", size);
    REQUIRE(clamped.parts.size() == 1);
    CHECK(clamped.parts[0].size_bytes == 10);
}

}  // namespace cairn
