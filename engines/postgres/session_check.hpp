// What a session says about its server, and whether the store's promise can be kept there.
#pragma once

#include "engines/postgres/link.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/result.hpp"

#include <string>

namespace cairn::postgres {

struct server_traits {
    std::int64_t version = 0;  // 150004 is 15.4
    bool fsync = false;
    bool full_page_writes = false;
    bool has_standbys = false;  // synchronous_standby_names says whom a commit waits for

    // Whether what the server acknowledges survives its crash.
    bool is_weak() const noexcept { return !fsync || !full_page_writes; }
};

struct session_needs {
    bool replicated = false;
    bool allow_weak_storage = false;
    // False behind a pooler: what is set for a session would meet other clients there.
    bool own_session = true;
};

// Reads the server's settings, and sets those of a session of our own. errc::weak_storage when they
// are weaker than what is needed, errc::unsupported for a server before 15; the log says what a
// person can do.
awaitable<result<server_traits>> check_session(greeting& fresh, session_needs needs);

}  // namespace cairn::postgres
