#include "http/problem.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>
#include <string>

namespace cairn {
namespace {

std::string quoted(std::string_view text) {
    return boost::json::serialize(boost::json::string(text));
}

}  // namespace

void make_problem(response& answer,
                  int status,
                  std::string_view type,
                  std::string_view detail,
                  std::string_view request_id) {
    answer.start(status);
    if (status == 404) answer.field("Cache-Control", "no-store");
    if (status == 503) answer.field("Retry-After", "1");
    answer.text(
        "application/problem+json",
        fmt::format(R"({{"type":"{}","title":"{}","status":{},"detail":{},"request_id":"{}"}})"
                    "\n",
                    type, reason_phrase(status), status, quoted(detail), request_id));
}

problem_kind problem_of(const error_code& ec) noexcept {
    if (ec.category() != cairn_category()) {
        if (ec == failure::full) return {507, "no-space"};
        if (ec == failure::retryable) return {503, "unavailable"};
        return {500, "trouble"};
    }
    switch (static_cast<errc>(ec.value())) {
        case errc::malformed: return {400, "malformed"};
        case errc::digest_mismatch: return {400, "digest-mismatch"};
        case errc::short_body: return {400, "short-body"};
        case errc::out_of_range: return {416, "out-of-range"};
        case errc::absent: return {404, "not-found"};
        case errc::quarantined: return {404, "quarantined"};
        case errc::corrupt: return {404, "quarantined"};
        case errc::timed_out: return {408, "timed-out"};
        case errc::too_large: return {413, "too-large"};
        case errc::no_space: return {507, "no-space"};
        case errc::overloaded: return {503, "overloaded"};
        case errc::vanished: return {503, "vanished"};
        case errc::closed: return {503, "closing"};
        case errc::stopped: return {503, "stopped"};
        case errc::outcome_unknown: return {503, "outcome-unknown"};
        case errc::refused:
        case errc::unauthorized: return {503, "upstream-refused"};
        case errc::unavailable:
        case errc::connection_lost: return {503, "unavailable"};
        case errc::unsupported: return {501, "unsupported"};
        case errc::already_locked:
        case errc::weak_storage:
        case errc::incompatible:
        case errc::restored_copy:
        case errc::unanswered: break;
    }
    return {500, "trouble"};
}

}  // namespace cairn
