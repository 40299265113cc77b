#include "engines/postgres/trailer.hpp"

#include <boost/endian/conversion.hpp>
#include <cstring>

namespace cairn::postgres {
namespace {

constexpr std::size_t id_bytes = sizeof(blob_id::bytes);

unsigned char* at(std::byte* bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* at(const std::byte* bytes) noexcept {
    return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

std::array<std::byte, trailer::encoded_bytes> trailer::encode() const noexcept {
    std::array<std::byte, encoded_bytes> bytes;
    std::memcpy(bytes.data(), id.bytes.data(), id_bytes);
    boost::endian::store_big_u64(at(bytes.data() + id_bytes), size_bytes);
    boost::endian::store_big_u64(at(bytes.data() + id_bytes + 8), checksums_digest);
    return bytes;
}

std::optional<trailer> trailer::decode(byte_view bytes) noexcept {
    if (bytes.size() != encoded_bytes) return std::nullopt;
    trailer read;
    std::memcpy(read.id.bytes.data(), bytes.data(), id_bytes);
    read.size_bytes = boost::endian::load_big_u64(at(bytes.data() + id_bytes));
    read.checksums_digest = boost::endian::load_big_u64(at(bytes.data() + id_bytes + 8));
    return read;
}

}  // namespace cairn::postgres
