// Replies of a server, as the remote store reads them: never a body that is framed twice.
#include "http/reply_head.hpp"
#include "runtime/check.hpp"

#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view received(reinterpret_cast<const char*>(data), size);
    const std::size_t end = cairn::find_reply_end(received);
    CAIRN_CHECK(end <= size);
    if (end == 0) return 0;
    const auto head = cairn::parse_reply(received.substr(0, end));
    if (!head) return 0;
    CAIRN_CHECK(head->status >= 100 && head->status <= 999);
    CAIRN_CHECK(!(head->chunked && head->content_length));
    CAIRN_CHECK(!head->has_body("HEAD"));
    return 0;
}
