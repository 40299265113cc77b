#include "http/json_fields.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <utility>

namespace cairn {

namespace json = boost::json;

json::object parse_object(std::string_view text) {
    json::error_code ec;
    json::value parsed = json::parse(text, ec);
    return ec || !parsed.is_object() ? json::object() : std::move(parsed.get_object());
}

std::string text_at(const json::object& in, std::string_view key) {
    const json::value* found = in.if_contains(key);
    return found != nullptr && found->is_string() ? std::string(found->get_string())
                                                  : std::string();
}

std::uint64_t number_at(const json::object& in, std::string_view key) {
    const json::value* found = in.if_contains(key);
    if (found == nullptr) return 0;
    json::error_code ec;
    const auto number = found->to_number<std::uint64_t>(ec);
    return ec ? 0 : number;
}

durability parse_durability(std::string_view text) noexcept {
    for (const durability level : {durability::full, durability::replicated}) {
        if (text == to_string(level)) return level;
    }
    return durability::none;
}

}  // namespace cairn
