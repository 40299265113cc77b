#include "engines/checksums.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace cairn {

static_assert(std::endian::native == std::endian::little, "checksums are stored little-endian");

checksums checksums::of(byte_view bytes) {
    checksum_stream stream;
    stream.update(bytes);
    return stream.finish();
}

checksums checksums::decode(byte_view encoded) {
    checksums list;
    list.sums_.resize(encoded.size() / sizeof(std::uint64_t));
    if (!encoded.empty()) std::memcpy(list.sums_.data(), encoded.data(), encoded.size());
    return list;
}

std::uint64_t checksums::digest() const noexcept { return xxh3(encoded()); }

void checksum_stream::update(byte_view bytes) {
    while (!bytes.empty()) {
        const std::size_t count = std::min(bytes.size(), checksum_span_bytes - filled_);
        stream_.update(bytes.first(count));
        filled_ += count;
        bytes = bytes.subspan(count);
        if (filled_ < checksum_span_bytes) continue;
        done_.append(stream_.finish());
        filled_ = 0;
    }
}

checksums checksum_stream::finish() {
    if (filled_ > 0) done_.append(stream_.finish());
    filled_ = 0;
    return std::exchange(done_, {});
}

}  // namespace cairn
