// Digest fields: what a client says its bytes hash to, and what we say (RFC 9530, and RFC 3230 for
// aria2).
#pragma once

#include "engines/blob_id.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cairn {

// What the sha-256 member of a Repr-Digest or Content-Digest claims. Other algorithms are passed
// over.
struct digest_claim {
    bool malformed = false;
    std::optional<blob_id> id;  // nothing when there is no such member
};

digest_claim parse_digest(std::string_view field);

// "sha-256=:<base64>:"
std::string repr_digest(const blob_id& id);

// Whether Want-Digest asks for SHA-256, which the older Digest field then answers.
bool wants_sha256(std::string_view want_digest);

// "SHA-256=<base64>"
std::string legacy_digest(const blob_id& id);

}  // namespace cairn
