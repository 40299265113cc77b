#include "http/id_list.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {
namespace {

struct parsed {
    std::vector<blob_id> ids;
    error_code why;
    std::string complaint;
};

parsed parse(id_list_form form, std::string_view text, std::size_t cut) {
    id_list_parser machine(form);
    parsed out;
    result<void> good = machine.eat(as_bytes(text.substr(0, cut)));
    if (good) good = machine.eat(as_bytes(text.substr(cut)));
    if (good) good = machine.finish();
    if (!good) out.why = good.error();
    out.complaint = machine.complaint();
    out.ids = machine.take();
    return out;
}

const blob_id a = blob_id::of(as_bytes("a"));
const blob_id b = blob_id::of(as_bytes("b"));

std::string quoted(const blob_id& id) { return '"' + id.hex() + '"'; }
std::string raw(const blob_id& id) { return std::string(as_text(id.view())); }

}  // namespace

TEST_CASE("ids: lists come out in their order, wherever the input is cut") {
    const std::vector<blob_id> both{a, b, a};
    for (const std::string& text :
         {"[" + quoted(a) + "," + quoted(b) + "," + quoted(a) + "]",
          " \r\n[\t" + quoted(a) + " ,\n\"sha256:" + b.hex() + "\" , " + quoted(a) + "\n]\n "}) {
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            CAPTURE(cut);
            CHECK(parse(id_list_form::json, text, cut).ids == both);
        }
    }
    const std::string binary = raw(a) + raw(b) + raw(a);
    for (std::size_t cut = 0; cut <= binary.size(); ++cut) {
        CAPTURE(cut);
        CHECK(parse(id_list_form::binary, binary, cut).ids == both);
    }
    CHECK_FALSE(parse(id_list_form::json, " [ ] ", 0).why);
    CHECK_FALSE(parse(id_list_form::binary, "", 0).why);
}

TEST_CASE("ids: a list that is none is refused, and the complaint names the place") {
    struct example {
        std::string text, complaint;
    };
    const std::string no_id =
        "ids[1] is no id: 64 lower-case hex digits, alone or behind `sha256:`";
    const std::string one = "[" + quoted(a);
    for (const example& each : {
             example{"", "the list of ids ends open, at byte 0"},
             {"  ", "the list of ids ends open, at byte 2"},
             {"{}", "byte 0: expected the `[` of a list of ids"},
             {quoted(a), "byte 0: expected the `[` of a list of ids"},
             {"[", "the list of ids ends open, at byte 1"},
             {"[,", "byte 1: expected an id in quotes"},
             {"[null]", "byte 1: expected an id in quotes"},
             {one, "the list of ids ends open, at byte 67"},
             {one + ",]", "byte 68: expected an id in quotes"},
             {one + " " + quoted(b), "byte 68: expected `,` or `]`"},
             {one + "}", "byte 67: expected `,` or `]`"},
             {one + "]]", "byte 68: expected nothing more"},
             {one + ",\"\"]", no_id},
             {one + ",\"" + b.hex().substr(1) + "\"]", no_id},
             {one + ",\"" + b.hex() + "0\"]", no_id},
             {one + ",\"md5:" + b.hex() + "\"]", no_id},
             {one + ",\"" + std::string(64, 'A') + "\"]", no_id},
             {one + ",\"\\u0061" + b.hex().substr(1) + "\"]", no_id},
             {one + ",\"" + std::string(5000, '0'), no_id},
         }) {
        for (std::size_t cut = 0; cut <= std::min<std::size_t>(each.text.size(), 300); ++cut) {
            const parsed out = parse(id_list_form::json, each.text, cut);
            CHECK(out.why == errc::malformed);
            CHECK(out.complaint == each.complaint);
        }
    }
    const parsed cut = parse(id_list_form::binary, raw(a) + raw(b).substr(0, 31), 40);
    CHECK(cut.why == errc::malformed);
    CHECK(cut.complaint == "ids[1] ends after 31 of its 32 bytes");
}

TEST_CASE("ids: 10,000 are a list, one more is too large") {
    std::string json = "[" + quoted(a);
    std::string binary = raw(a);
    for (std::size_t i = 1; i < batch_entries_max; ++i) {
        json += "," + quoted(b);
        binary += raw(b);
    }
    CHECK(parse(id_list_form::json, json + "]", 0).ids.size() == 10'000);
    CHECK(parse(id_list_form::binary, binary, 0).ids.size() == 10'000);
    CHECK(binary.size() == id_list_bytes_max(id_list_form::binary));
    CHECK(json.size() < id_list_bytes_max(id_list_form::json));
    for (const parsed& out : {parse(id_list_form::json, json + "," + quoted(a) + "]", 0),
                              parse(id_list_form::binary, binary + raw(a), 0)}) {
        CHECK(out.why == errc::too_large);
        CHECK(out.complaint == "more than 10000 ids");
    }
}

}  // namespace cairn
