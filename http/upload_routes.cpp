// Storing blobs: what can be refused or answered before the body is, then the body goes to the
// store.
#include "http/digest_fields.hpp"
#include "http/routes.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

namespace cairn {

namespace {

// With Expect, a body beyond this is not asked for when the blob is here already.
constexpr std::uint64_t expected_bytes_min = 64 << 10;

void answer_receipt(exchange& x, const receipt& stored) {
    x.answer.start(stored.created ? 201 : 200);
    const std::string id = stored.id.hex();
    x.answer.field("Location", "/blobs/" + id);
    x.answer.field("ETag", '"' + id + '"');
    x.answer.field("Cairn-Durability", to_string(stored.kept));
    x.answer.text("application/json",
                  fmt::format(R"({{"id":"{}","size":{},"created":{},"durability":"{}"}})"
                              "\n",
                              id, stored.size_bytes, stored.created, to_string(stored.kept)));
}

// False when the head alone is reason to refuse; then x is answered.
bool head_is_acceptable(exchange& x) {
    if (x.request.find(field_name::content_range)) {
        // Others patch in place or store the fragment as the whole (HTTP.md 1.8).
        x.refuse(400, "content-range", "a blob is put whole, not by Content-Range");
    } else if (x.request.find(field_name::content_encoding)) {
        x.refuse(415, "content-encoding", "bytes are stored as they are, without Content-Encoding");
    } else if (x.request.content_length() > x.server.settings.blob_bytes_max) {
        x.refuse(413, "too-large",
                 fmt::format("{} bytes are over the limit of {}", x.request.content_length(),
                             x.server.settings.blob_bytes_max));
    } else {
        return true;
    }
    return false;
}

// The id that the body must have by Repr-Digest, Content-Digest and the path, as far as given.
// False when they are malformed or contradict each other; then x is answered.
bool read_claims(exchange& x, std::optional<blob_id>& claim) {
    for (const field_name name : {field_name::repr_digest, field_name::content_digest}) {
        const auto field = x.request.joined(name);
        if (!field) continue;
        const digest_claim said = parse_digest(*field);
        if (said.malformed) {
            x.refuse(400, "malformed-digest", "the sha-256 digest is not 32 bytes in base64");
            return false;
        }
        if (said.id && claim && *said.id != *claim) {
            x.refuse(400, "digest-mismatch", "the digest field and the id differ");
            return false;
        }
        if (said.id) claim = said.id;
    }
    return true;
}

awaitable<void> store_body(exchange& x, std::optional<blob_id> claim) {
    if (!x.budget_is_left()) co_return;
    const auto stored = co_await x.store().put(x.body, claim);
    if (!stored) co_return x.refuse(stored.error());
    answer_receipt(x, *stored);
}

// What a blob that is here already means for a PUT with conditions or an expectation. True when the
// body is still wanted.
awaitable<bool> body_is_wanted(exchange& x, blob_id id) {
    const bool conditional =
        x.request.find(field_name::if_match) || x.request.find(field_name::if_none_match);
    const bool may_be_spared =
        x.body.awaits_continue() && x.request.content_length() > expected_bytes_min;
    if (!conditional && !may_be_spared) co_return true;
    const auto held = co_await x.store().hold(id);
    if (!held) {
        x.refuse(held.error());
        co_return false;
    }
    if (!x.conditions_hold(id, held->has_value())) co_return false;
    if (!*held || !may_be_spared) co_return true;
    receipt known;
    known.id = id;
    known.size_bytes = (*held)->size_bytes;
    known.kept = x.server.kept;
    answer_receipt(x, known);
    co_return false;
}

}  // namespace

awaitable<void> put_blob(exchange& x, blob_id id) {
    std::optional<blob_id> claim = id;
    if (!head_is_acceptable(x) || !read_claims(x, claim)) co_return;
    const bool wanted = co_await body_is_wanted(x, id);
    if (wanted) co_await store_body(x, claim);
}

awaitable<void> post_blob(exchange& x) {
    std::optional<blob_id> claim;
    if (!head_is_acceptable(x) || !read_claims(x, claim)) co_return;
    co_await store_body(x, claim);
}

}  // namespace cairn
