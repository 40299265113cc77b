// Answers that say what went wrong, as application/problem+json (RFC 9457) with a request id.
//
// `type` is a short word that programs compare; `detail` is for people and says facts and numbers,
// no SQL, no path of ours, nothing of another request.
#pragma once

#include "http/response.hpp"
#include "runtime/error.hpp"

#include <string_view>

namespace cairn {

// Fills `answer` with a problem. A 404 is not cached; 503 says when to come again.
void make_problem(response& answer,
                  int status,
                  std::string_view type,
                  std::string_view detail,
                  std::string_view request_id);

// The status and type by which HTTP tells an error of the store.
struct problem_kind {
    int status;
    std::string_view type;
};
problem_kind problem_of(const error_code& ec) noexcept;

}  // namespace cairn
