// Ids and targets of requests: what parses is what it says, in one way only.
#include "http/target.hpp"
#include "runtime/check.hpp"

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto id = cairn::parse_blob_name(text)) {
        CAIRN_CHECK(text == id->hex() || text == "sha256:" + id->hex());
    }
    const auto target = cairn::parse_target(text);
    if (!target) return 0;
    CAIRN_CHECK(target->path == "*" || target->path.starts_with('/'));
    CAIRN_CHECK(target->path.find('\0') == std::string::npos);
    if (const auto limit = cairn::query_parameter(target->query, "limit")) {
        CAIRN_CHECK(limit->size() <= size);
    }
    return 0;
}
