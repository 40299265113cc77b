#include "engines/segments/record.hpp"

#include "engines/segments/segment_name.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/results.hpp"

#include <doctest/doctest.h>

namespace cairn {
namespace {

using namespace segment_record;

// A record of `size_bytes` at `offset`, as its two parts.
struct example {
    explicit example(std::size_t size_bytes, std::uint64_t offset = 8192)
        : body(test::random_body(size_bytes, size_bytes)), sums(checksums::of(body.view())) {
        about.mark = 3;
        about.id = blob_id::of(body.view());
        about.stored = {{std::uint64_t{3} << 32 | 1, offset, length_bytes(size_bytes)},
                        size_bytes,
                        sums.digest()};
        tail = encode_tail(about, sums);
    }
    std::uint64_t end() const { return about.stored.at.offset + about.stored.at.length_bytes; }

    buffer body;
    checksums sums;
    footer about;
    buffer tail;
};

TEST_CASE("record: body, padding and trailer fill whole blocks exactly") {
    for (const std::size_t size_bytes : {0, 1, 3999, 4000, 4001, 4096, 65536, 65537, 1'000'000}) {
        CAPTURE(size_bytes);
        const example record(size_bytes);
        CHECK((size_bytes + record.tail.size()) % block_bytes == 0);
        CHECK(size_bytes + record.tail.size() == record.about.stored.at.length_bytes);
        CHECK(trailer_offset(size_bytes) >= size_bytes);
        CHECK(trailer_offset(size_bytes) - size_bytes < block_bytes);
    }
}

TEST_CASE("record: a footer says again what was written") {
    const example record(100'000);
    const auto found = decode_footer(record.tail.view().last(footer_bytes),
                                     record.about.stored.at.container, record.end());
    REQUIRE(found);
    CHECK(found->mark == 3);
    CHECK(found->id == record.about.id);
    CHECK(found->stored.at == record.about.stored.at);
    CHECK(found->stored.size_bytes == 100'000);
    CHECK(found->stored.checksums_digest == record.sums.digest());
}

TEST_CASE("record: a footer is accepted only in its own place") {
    const example record(100'000);
    const byte_view bytes = record.tail.view().last(footer_bytes);
    const std::uint64_t segment = record.about.stored.at.container;
    CHECK_FALSE(decode_footer(bytes, segment + 1, record.end()));
    CHECK_FALSE(decode_footer(bytes, segment, record.end() + block_bytes));
    CHECK_FALSE(decode_footer(bytes, segment, record.end() - block_bytes));
    CHECK_FALSE(decode_footer(bytes, segment, block_bytes));
}

TEST_CASE("record: any flipped bit of a footer is noticed") {
    const example record(5'000);
    buffer bytes = buffer::copy_of(record.tail.view().last(footer_bytes));
    for (std::size_t bit = 0; bit < footer_bytes * 8; ++bit) {
        bytes.mutable_data()[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        CHECK_FALSE(decode_footer(bytes.view(), record.about.stored.at.container, record.end()));
        bytes.mutable_data()[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
}

TEST_CASE("record: a trailer's checksums are those of the row, or nothing") {
    const example record(200'000);
    const std::size_t size_bytes = trailer_bytes(200'000);
    const byte_view trailer = record.tail.view().last(size_bytes);
    const auto sums = decode_trailer(trailer, record.about.stored);
    REQUIRE(sums);
    CHECK(sums->count() == 4);
    CHECK(sums->match(0, record.body.view().first(65536)));
    extent other = record.about.stored;
    other.checksums_digest ^= 1;
    CHECK_FALSE(decode_trailer(trailer, other));
    buffer rotten = buffer::copy_of(trailer);
    rotten.mutable_data()[5] ^= std::byte{1};
    CHECK_FALSE(decode_trailer(rotten.view(), record.about.stored));
    CHECK_FALSE(decode_trailer(trailer.first(size_bytes - 8), record.about.stored));
}

TEST_CASE("segment names: boot and number, and nothing else is one") {
    const std::uint64_t segment = std::uint64_t{12} << 32 | 345;
    CHECK(segment_name(segment) == "12-345");
    CHECK(segment_of("12-345") == segment);
    for (const char* other : {"", "12", "12-", "-345", "12-345x", "x12-345", "012-345", "12-0345",
                              "12-4294967296", "12--345", "+12-345"}) {
        CAPTURE(other);
        CHECK_FALSE(segment_of(other));
    }
}

}  // namespace
}  // namespace cairn
