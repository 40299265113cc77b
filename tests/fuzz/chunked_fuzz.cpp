// Chunked bodies: the same bytes, and the same end, wherever the network cuts them.
#include "http/chunked.hpp"

#include "runtime/check.hpp"
#include "tests/fuzz/cuts.hpp"

#include <string>

namespace {

struct decoded {
    std::string body;
    std::size_t used = 0;  // up to the body's end, or the whole
    bool is_done = false;
    bool is_malformed = false;
    friend bool operator==(const decoded&, const decoded&) = default;
};

// True while the decoder wants more.
bool feed(cairn::chunked_decoder& decoder, std::string_view piece, decoded& out) {
    while (!piece.empty()) {
        const auto data = std::min<std::uint64_t>(decoder.data_bytes(), piece.size());
        if (data > 0) {
            out.body += piece.substr(0, data);
            decoder.moved(data);
            piece.remove_prefix(data);
            out.used += data;
            continue;
        }
        const auto eaten = decoder.eat(piece);
        out.is_malformed = !eaten.has_value();
        if (out.is_malformed) return false;
        CAIRN_CHECK(*eaten <= piece.size());
        out.used += *eaten;
        piece.remove_prefix(*eaten);
        out.is_done = decoder.done();
        if (out.is_done) return false;
        CAIRN_CHECK(piece.empty() || decoder.data_bytes() > 0);
    }
    return true;
}

decoded decode(const std::vector<std::string_view>& pieces) {
    cairn::chunked_decoder decoder;
    decoded out;
    for (const std::string_view piece : pieces) {
        if (!feed(decoder, piece, out)) break;
    }
    if (out.is_malformed) out.used = 0;  // how much of a bad line was eaten depends on the cuts
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    const std::string whole = input.ConsumeRandomLengthString();
    CAIRN_CHECK(decode({whole}) == decode(cairn::fuzz::cut(whole, input)));
    return 0;
}
