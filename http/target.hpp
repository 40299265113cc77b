// The target of a request: a decoded path with its parameters, and the blob ids in it.
//
// Percent-encoding is undone exactly once, and what it could hide (a slash, a NUL) is refused, so
// that a path means the same here and in whatever stands in front of us.
#pragma once

#include "engines/blob_id.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cairn {

struct request_target {
    std::string path;                           // decoded, begins with a slash, or "*"
    std::string_view query;                     // as received, without the question mark
    std::optional<std::string_view> authority;  // of an absolute-form target: it overrides Host
};

// Origin form (`/blobs?limit=5`), absolute form (`http://host/blobs`) or `*`; nothing when
// malformed. The result's views point into `text`.
std::optional<request_target> parse_target(std::string_view text);

// The decoded value of a query parameter, empty when it is there without one; nothing when it is
// missing or malformed.
std::optional<std::string> query_parameter(std::string_view query, std::string_view name);

// A blob's id as HTTP writes it: 64 lower-case hex digits, alone or behind `sha256:`.
std::optional<blob_id> parse_blob_name(std::string_view text);

}  // namespace cairn
