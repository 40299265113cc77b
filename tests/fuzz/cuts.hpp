// Foreign bytes arrive in pieces: the same input, cut wherever the fuzzer likes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fuzzer/FuzzedDataProvider.h>
#include <string_view>
#include <vector>

namespace cairn::fuzz {

// `whole` in pieces, some of them empty; together they are the whole. The rest of `choices` is used
// up.
inline std::vector<std::string_view> cut(std::string_view whole, FuzzedDataProvider& choices) {
    std::vector<std::string_view> pieces;
    while (!whole.empty() && choices.remaining_bytes() > 0) {
        const auto size =
            std::min<std::size_t>(choices.ConsumeIntegral<std::uint8_t>(), whole.size());
        pieces.push_back(whole.substr(0, size));
        whole.remove_prefix(size);
    }
    pieces.push_back(whole);
    return pieces;
}

}  // namespace cairn::fuzz
