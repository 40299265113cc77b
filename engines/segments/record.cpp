#include "engines/segments/record.hpp"

#include "runtime/check.hpp"
#include "runtime/hash.hpp"

#include <cstring>

namespace cairn::segment_record {
namespace {

constexpr char magic[] = {'c', 'a', 'i', 'r', 'n', 'r', 'e', 'c'};

// The footer as it lies on disk.
struct stored_footer {
    char magic[8];
    std::uint64_t segment;
    std::uint64_t mark;
    std::uint64_t size;
    std::uint64_t digest;
    std::uint64_t offset;
    std::uint64_t length;
    std::byte id[32];
    std::uint64_t check;
};
static_assert(sizeof(stored_footer) == footer_bytes);

std::uint64_t check_of(const stored_footer& stored) noexcept {
    return xxh3(std::as_bytes(std::span(&stored, 1)).first(footer_bytes - sizeof stored.check));
}

std::uint64_t round_up(std::uint64_t value) noexcept {
    return (value + block_bytes - 1) / block_bytes * block_bytes;
}

}  // namespace

std::uint64_t trailer_bytes(std::uint64_t size_bytes) noexcept {
    return checksums::count_for(size_bytes) * sizeof(std::uint64_t) + footer_bytes;
}

std::uint64_t length_bytes(std::uint64_t size_bytes) noexcept {
    return round_up(size_bytes + trailer_bytes(size_bytes));
}

std::uint64_t trailer_offset(std::uint64_t size_bytes) noexcept {
    return length_bytes(size_bytes) - trailer_bytes(size_bytes);
}

buffer encode_tail(const footer& about, const checksums& sums) {
    const extent& record = about.stored;
    CAIRN_CHECK(record.at.length_bytes == length_bytes(record.size_bytes));
    stored_footer stored{};
    std::memcpy(stored.magic, magic, sizeof magic);
    stored.segment = record.at.container;
    stored.mark = about.mark;
    stored.size = record.size_bytes;
    stored.digest = record.checksums_digest;
    stored.offset = record.at.offset;
    stored.length = record.at.length_bytes;
    std::memcpy(stored.id, about.id.bytes.data(), sizeof stored.id);
    stored.check = check_of(stored);

    buffer tail = buffer::allocate(record.at.length_bytes - record.size_bytes);
    const byte_view encoded = sums.encoded();
    const std::size_t padding = tail.size() - encoded.size() - footer_bytes;
    std::memset(tail.mutable_data(), 0, padding);
    // An empty body has no checksums, and memcpy may not be given its null pointer.
    if (!encoded.empty()) {
        std::memcpy(tail.mutable_data() + padding, encoded.data(), encoded.size());
    }
    std::memcpy(tail.mutable_data() + padding + encoded.size(), &stored, footer_bytes);
    return tail;
}

std::optional<footer> decode_footer(byte_view bytes,
                                    std::uint64_t segment,
                                    std::uint64_t end_offset) {
    CAIRN_CHECK(bytes.size() == footer_bytes);
    stored_footer stored;
    std::memcpy(&stored, bytes.data(), footer_bytes);
    const bool is_footer = std::memcmp(stored.magic, magic, sizeof magic) == 0 &&
                           stored.check == check_of(stored) && stored.segment == segment;
    if (!is_footer || stored.size > end_offset) return std::nullopt;
    const bool lies_here = stored.length == length_bytes(stored.size) &&
                           stored.length <= end_offset &&
                           stored.offset == end_offset - stored.length;
    if (!lies_here) return std::nullopt;
    footer found;
    found.mark = stored.mark;
    std::memcpy(found.id.bytes.data(), stored.id, sizeof stored.id);
    found.stored = {{segment, stored.offset, stored.length}, stored.size, stored.digest};
    return found;
}

std::optional<checksums> decode_trailer(byte_view trailer, const extent& stored) {
    if (trailer.size() != trailer_bytes(stored.size_bytes)) return std::nullopt;
    const auto about = decode_footer(trailer.last(footer_bytes), stored.at.container,
                                     stored.at.offset + stored.at.length_bytes);
    if (!about || about->stored.at != stored.at) return std::nullopt;
    if (about->stored.checksums_digest != stored.checksums_digest) return std::nullopt;
    auto sums = checksums::decode(trailer.first(trailer.size() - footer_bytes));
    if (sums.digest() != stored.checksums_digest) return std::nullopt;
    return sums;
}

}  // namespace cairn::segment_record
