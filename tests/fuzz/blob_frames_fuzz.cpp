// Frames of many blobs: the same frames wherever they are cut, and written again they are the same
// bytes.
#include "http/blob_frames.hpp"

#include "runtime/check.hpp"
#include "tests/fuzz/cuts.hpp"

#include <string>

namespace {

struct decoded {
    std::string again;  // what was read, encoded anew
    bool is_whole = false;
    friend bool operator==(const decoded&, const decoded&) = default;
};

void feed(cairn::blob_frame_decoder& decoder, std::string_view piece, decoded& out) {
    cairn::byte_view rest = cairn::as_bytes(piece);
    while (!rest.empty()) {
        const auto data = std::min<std::uint64_t>(decoder.data_bytes(), rest.size());
        if (data > 0) {
            out.again += cairn::as_text(rest.first(data));
            decoder.moved(data);
            rest = rest.subspan(data);
            continue;
        }
        const auto frame = decoder.eat(rest);
        CAIRN_CHECK(frame || rest.empty());
        if (frame) out.again += cairn::as_text(frame->head());
    }
}

decoded decode(const std::vector<std::string_view>& pieces) {
    cairn::blob_frame_decoder decoder;
    decoded out;
    for (const std::string_view piece : pieces) feed(decoder, piece, out);
    out.is_whole = decoder.at_boundary();
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    const std::string whole = input.ConsumeRandomLengthString();
    const decoded at_once = decode({whole});
    CAIRN_CHECK(whole.starts_with(at_once.again));
    CAIRN_CHECK(!at_once.is_whole || whole == at_once.again);
    CAIRN_CHECK(at_once == decode(cairn::fuzz::cut(whole, input)));
    return 0;
}
