// The connections of one loop thread.
#pragma once

#include "http/deadline_watch.hpp"
#include "http/server_context.hpp"
#include "http/session.hpp"
#include "runtime/deadline.hpp"
#include "runtime/runtime.hpp"
#include "runtime/task_scope.hpp"

#include <cstdint>
#include <list>
#include <optional>

namespace cairn {

class shard {
public:
    // Both outlive the shard.
    shard(server_context& server, loop_thread& home);

    executor home() const { return home_; }

    // Takes over a connected socket of this shard's executor and serves it, or with `over_limit`
    // only says 503. The server counted it in `connections`; its end is counted here. Any thread.
    void admit(stream::socket_type socket, std::uint64_t number, bool over_limit);

    // Nothing is read any more but what belongs to requests under way. Any thread.
    void begin_drain();
    // Waits for the connections, and cuts off those that are left at `until`. On home(), last.
    awaitable<void> finish_drain(deadline until);

private:
    awaitable<void> serve(stream::socket_type socket, std::uint64_t number);
    awaitable<void> turn_away(stream::socket_type socket);
    awaitable<void> cut_off(deadline until);

    server_context& server_;
    const executor home_;
    std::optional<deadline_watch> watch_;
    std::list<session*> sessions_;
    bool draining_ = false;
    task_scope connections_;
    task_scope helpers_;
};

}  // namespace cairn
