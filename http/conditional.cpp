#include "http/conditional.hpp"

#include "http/grammar.hpp"

namespace cairn {
namespace {

struct entity_tag {
    bool weak = false;
    std::string_view opaque;
};

// Takes one entity tag from the front of `text`; nothing when none is there.
std::optional<entity_tag> take_tag(std::string_view& text) {
    entity_tag tag;
    tag.weak = text.starts_with("W/");
    if (tag.weak) text.remove_prefix(2);
    if (!text.starts_with('"')) return std::nullopt;
    const std::size_t end = text.find('"', 1);
    if (end == std::string_view::npos) return std::nullopt;
    tag.opaque = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    return tag;
}

// Whether a list of tags, or `*`, names what is there. A list that does not parse names nothing
// from its first error on.
bool names(std::string_view list, std::optional<std::string_view> current, bool weak_counts) {
    list = trim(list);
    if (list == "*") return current.has_value();
    if (!current) return false;
    while (!list.empty()) {
        if (list.front() == ',' || list.front() == ' ' || list.front() == '\t') {
            list.remove_prefix(1);
            continue;
        }
        const auto tag = take_tag(list);
        if (!tag) return false;
        if (tag->opaque == *current && (weak_counts || !tag->weak)) return true;
    }
    return false;
}

}  // namespace

precondition judge(const condition_fields& fields,
                   std::optional<std::string_view> current,
                   bool reading) {
    if (fields.if_match && !names(*fields.if_match, current, false)) return precondition::failed;
    if (fields.if_none_match && names(*fields.if_none_match, current, true)) {
        return reading ? precondition::not_modified : precondition::failed;
    }
    return precondition::proceed;
}

bool range_applies(std::optional<std::string_view> if_range, std::string_view current) {
    if (!if_range) return true;
    std::string_view text = trim(*if_range);
    const auto tag = take_tag(text);
    return tag && text.empty() && !tag->weak && tag->opaque == current;
}

}  // namespace cairn
