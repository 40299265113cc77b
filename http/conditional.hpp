// Preconditions of a request, judged in the order of RFC 9110 section 13.2.2.
//
// A blob has a strong entity tag, its id, and no modification date, so fields that carry dates are
// ignored, as the RFC wants it for such resources.
#pragma once

#include <optional>
#include <string_view>

namespace cairn {

// Values of the fields as received; several lines of one field joined by commas. Views.
struct condition_fields {
    std::optional<std::string_view> if_match;
    std::optional<std::string_view> if_none_match;

    bool any() const noexcept { return if_match.has_value() || if_none_match.has_value(); }
};

enum class precondition {
    proceed,
    not_modified,  // 304
    failed,        // 412
};

// `current` is the tag's opaque part (64 hex digits) of what is there now, nothing when absent;
// `reading` is true for GET and HEAD.
precondition judge(const condition_fields& fields,
                   std::optional<std::string_view> current,
                   bool reading);

// Whether a Range field counts: If-Range is missing, or its tag is strong and the current one. A
// date, a weak tag or anything else means the whole blob.
bool range_applies(std::optional<std::string_view> if_range, std::string_view current);

}  // namespace cairn
