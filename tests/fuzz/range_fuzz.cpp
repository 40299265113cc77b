// The Range field: whatever it says, the parts lie inside the blob, in order and apart.
#include "http/range.hpp"

#include "runtime/check.hpp"

#include <fuzzer/FuzzedDataProvider.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using cairn::range_selection;
    FuzzedDataProvider input(data, size);
    const auto blob_bytes = input.ConsumeIntegral<std::uint64_t>();
    const std::string field = input.ConsumeRemainingBytesAsString();
    const range_selection chosen = cairn::select_ranges(field, blob_bytes);
    CAIRN_CHECK(chosen.parts.empty() == (chosen.what != range_selection::kind::parts));
    CAIRN_CHECK(chosen.parts.size() <= cairn::ranges_max);
    std::uint64_t free_from = 0;
    for (const cairn::byte_range& part : chosen.parts) {
        CAIRN_CHECK(part.size_bytes > 0);
        CAIRN_CHECK(part.offset >= free_from);
        CAIRN_CHECK(part.offset < blob_bytes);
        CAIRN_CHECK(part.size_bytes <= blob_bytes - part.offset);
        free_from = part.offset + part.size_bytes;
        if (free_from < blob_bytes) free_from += cairn::range_gap_min;
    }
    return 0;
}
