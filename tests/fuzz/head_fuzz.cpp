// Request heads: one verdict wherever the network cuts them, and none that frames a body twice.
#include "http/head.hpp"

#include "http/target.hpp"
#include "runtime/check.hpp"
#include "tests/fuzz/cuts.hpp"

#include <optional>

namespace {

struct verdict {
    std::optional<std::size_t> size;
    int refusal = 0;
    friend bool operator==(const verdict&, const verdict&) = default;
};

verdict verdict_on(std::string_view whole, const std::vector<std::string_view>& pieces) {
    cairn::head_scanner scanner;
    verdict out;
    std::size_t received = 0;
    for (const std::string_view piece : pieces) {
        received += piece.size();
        out.size = scanner.find_end(whole.substr(0, received));
        if (scanner.refusal()) out.refusal = scanner.refusal()->status;
        if (out.size || out.refusal != 0) break;
    }
    return out;
}

void check_framing(const cairn::request_head& head) {
    using cairn::field_name;
    const std::size_t codings = head.count(field_name::transfer_encoding);
    const std::size_t lengths = head.count(field_name::content_length);
    CAIRN_CHECK(codings + lengths <= 1);
    CAIRN_CHECK((head.framing() == cairn::body_framing::chunked) == (codings == 1));
    CAIRN_CHECK(head.count(field_name::host) <= 1);
    CAIRN_CHECK(head.is_http_1_0() || head.count(field_name::host) == 1);
    CAIRN_CHECK(!(head.is_http_1_0() && codings > 0));
    static_cast<void>(head.keeps_alive());
    static_cast<void>(cairn::parse_target(head.target()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    const std::string whole = input.ConsumeRandomLengthString();
    const verdict at_once = verdict_on(whole, {whole});
    const verdict in_pieces = verdict_on(whole, cairn::fuzz::cut(whole, input));
    CAIRN_CHECK(at_once == in_pieces);
    if (!at_once.size) return 0;
    cairn::request_head head;
    if (!head.parse(std::string_view(whole).substr(0, *at_once.size))) check_framing(head);
    return 0;
}
