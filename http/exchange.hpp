// One request and the answer that a route makes of it.
#pragma once

#include "http/body_source.hpp"
#include "http/head.hpp"
#include "http/response.hpp"
#include "http/server_context.hpp"
#include "http/target.hpp"

#include <string>
#include <string_view>

namespace cairn {

// Lives in its connection, on the connection's thread. A route fills `answer` and nothing else;
// what the body has not been read of is the connection's business.
struct exchange {
    server_context& server;
    const request_head& request;
    const request_target& target;
    body_source& body;
    response& answer;
    const std::string& id;  // of the request, for problems and logs

    cairn::store& store() const { return *server.store.load(std::memory_order_relaxed); }

    void refuse(int status, std::string_view type, std::string_view detail);
    // With the status and type that HTTP has for the error; foreign messages stay here.
    void refuse(const error_code& ec);

    // Overload is told early: a body that could not have a window now is not begun. False when the
    // request is answered so.
    bool budget_is_left();

    // Begins an answer about a blob that is there.
    void begin_blob(int status, const blob_id& blob);

    // Whether the request's conditions let it go on; if not, it is answered: 304 or 412.
    bool conditions_hold(const blob_id& blob, bool present);
};

}  // namespace cairn
