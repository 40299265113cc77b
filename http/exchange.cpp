#include "http/exchange.hpp"

#include "http/conditional.hpp"
#include "http/digest_fields.hpp"
#include "http/problem.hpp"

#include <algorithm>

namespace cairn {

void exchange::refuse(int status, std::string_view type, std::string_view detail) {
    make_problem(answer, status, type, detail, id);
}

void exchange::refuse(const error_code& ec) {
    const problem_kind kind = problem_of(ec);
    const bool ours = ec.category() == cairn_category();
    refuse(kind.status, kind.type, ours ? ec.message() : std::string("the storage failed"));
}

bool exchange::budget_is_left() {
    const std::uint64_t length =
        request.framing() == body_framing::chunked ? window_bytes : request.content_length();
    const std::uint64_t needed = std::min<std::uint64_t>(length, window_bytes);
    if (server.body_budget.available() >= needed) return true;
    refuse(503, "overloaded", "too many bodies at once");
    return false;
}

void exchange::begin_blob(int status, const blob_id& blob) {
    answer.start(status);
    const bool guarded = server.rules.asks_for_token();
    add_blob_fields(answer, blob, guarded ? audience::asker : audience::everybody);
    const auto wishes = request.joined(field_name::want_digest);
    if (wishes && wants_sha256(*wishes)) answer.field("Digest", legacy_digest(blob));
}

bool exchange::conditions_hold(const blob_id& blob, bool present) {
    const auto if_match = request.joined(field_name::if_match);
    const auto if_none_match = request.joined(field_name::if_none_match);
    if (!if_match && !if_none_match) return true;
    const std::string tag = blob.hex();
    std::optional<std::string_view> current;
    if (present) current = tag;
    const bool reading =
        request.method() == http_method::get || request.method() == http_method::head;
    switch (judge({if_match, if_none_match}, current, reading)) {
        case precondition::proceed: return true;
        case precondition::not_modified: begin_blob(304, blob); return false;
        case precondition::failed:
            refuse(412, "precondition-failed", "a condition of the request does not hold");
            return false;
    }
    return true;
}

}  // namespace cairn
