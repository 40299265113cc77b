// Segment records: whatever a footer says, one that is accepted describes a record that lies
// exactly where it was found.
#include "engines/segments/record.hpp"

#include "runtime/check.hpp"
#include "runtime/hash.hpp"

#include <cstring>
#include <fuzzer/FuzzedDataProvider.h>
#include <vector>

namespace {

using namespace cairn;

// A fuzzer does not find a checksum, so it is given one.
std::vector<std::byte> footer_with_check(FuzzedDataProvider& input) {
    constexpr std::string_view magic = "cairnrec";
    constexpr std::size_t checked = segment_record::footer_bytes - sizeof(std::uint64_t);
    auto bytes = input.ConsumeBytes<std::byte>(segment_record::footer_bytes);
    bytes.resize(segment_record::footer_bytes);
    std::memcpy(bytes.data(), magic.data(), magic.size());
    const std::uint64_t check = xxh3(byte_view(bytes).first(checked));
    std::memcpy(bytes.data() + checked, &check, sizeof check);
    return bytes;
}

void check_footer(FuzzedDataProvider& input) {
    const std::vector<std::byte> bytes = footer_with_check(input);
    std::uint64_t segment = 0;
    std::memcpy(&segment, bytes.data() + 8, sizeof segment);
    const auto end = input.ConsumeIntegral<std::uint64_t>();
    const auto about = segment_record::decode_footer(bytes, segment, end);
    if (!about) return;
    const extent& stored = about->stored;
    CAIRN_CHECK(stored.at.offset % segment_record::block_bytes == 0);
    CAIRN_CHECK(stored.at.length_bytes == segment_record::length_bytes(stored.size_bytes));
    CAIRN_CHECK(stored.at.length_bytes <= end);
    CAIRN_CHECK(stored.at.offset == end - stored.at.length_bytes);
}

// A record that was written is found again, and its checks with it.
void check_written(FuzzedDataProvider& input) {
    segment_record::footer about;
    about.mark = input.ConsumeIntegral<std::uint32_t>();
    about.stored.at.container = input.ConsumeIntegral<std::uint64_t>();
    about.stored.at.offset = input.ConsumeIntegral<std::uint32_t>() * segment_record::block_bytes;
    const auto body = input.ConsumeRemainingBytes<std::byte>();
    about.id = blob_id::of(body);
    const checksums sums = checksums::of(body);
    about.stored.size_bytes = body.size();
    about.stored.checksums_digest = sums.digest();
    about.stored.at.length_bytes = segment_record::length_bytes(body.size());
    const buffer tail = segment_record::encode_tail(about, sums);
    const byte_view footer = tail.view().last(segment_record::footer_bytes);
    const auto found = segment_record::decode_footer(
        footer, about.stored.at.container, about.stored.at.offset + about.stored.at.length_bytes);
    CAIRN_CHECK(found && found->id == about.id && found->stored.at == about.stored.at);
    const byte_view trailer = tail.view().last(segment_record::trailer_bytes(body.size()));
    CAIRN_CHECK(segment_record::decode_trailer(trailer, about.stored).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    if (input.ConsumeBool()) {
        check_footer(input);
    } else {
        check_written(input);
    }
    return 0;
}
