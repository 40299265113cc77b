// Lists of ids: cuts do not matter, and a JSON list that we take is one to everybody.
#include "http/id_list.hpp"

#include "runtime/check.hpp"
#include "tests/fuzz/cuts.hpp"

#include <boost/json/parse.hpp>
#include <optional>
#include <string>

namespace {

using cairn::id_list_form;

std::optional<std::vector<cairn::blob_id>> parse(id_list_form form,
                                                 const std::vector<std::string_view>& pieces) {
    cairn::id_list_parser parser(form);
    for (const std::string_view piece : pieces) {
        if (!parser.eat(cairn::as_bytes(piece))) return std::nullopt;
    }
    if (!parser.finish()) return std::nullopt;
    return parser.take();
}

void check_json(std::string_view text, const std::vector<cairn::blob_id>& ids) {
    const boost::json::array list = boost::json::parse({text.data(), text.size()}).as_array();
    CAIRN_CHECK(list.size() == ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::string_view word = list[i].as_string();
        CAIRN_CHECK(word.ends_with(ids[i].hex()));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FuzzedDataProvider input(data, size);
    const auto form = input.ConsumeBool() ? id_list_form::json : id_list_form::binary;
    const std::string whole = input.ConsumeRandomLengthString();
    const auto at_once = parse(form, {whole});
    CAIRN_CHECK(at_once == parse(form, cairn::fuzz::cut(whole, input)));
    if (at_once && form == id_list_form::json) check_json(whole, *at_once);
    if (at_once && form == id_list_form::binary) CAIRN_CHECK(at_once->size() * 32 == whole.size());
    return 0;
}
