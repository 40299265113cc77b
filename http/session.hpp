// One client connection from its first byte to its close: reads requests and has them answered, one
// at a time and in order.
//
// Lives on the thread of its shard, whose task scope owns it. run() ends by itself; a terminal
// cancellation ends it at once and leaves nothing behind but a broken connection.
#pragma once

#include "http/body_source.hpp"
#include "http/exchange.hpp"
#include "http/sender.hpp"
#include "http/stream.hpp"
#include "runtime/deadline.hpp"

#include <cstdint>
#include <string>

namespace cairn {

class session {
public:
    session(server_context& server,
            stream::socket_type socket,
            deadline_watch& watch,
            std::uint64_t number);

    awaitable<void> run();

    // No further request is read; one that is under way is finished. On the session's thread.
    void drain();

private:
    enum class reading { request, refused, over };
    enum class fate {
        keep,    // the next request may come
        close,   // all is said and read
        linger,  // the peer may still send what nobody reads: a reset must not overtake our answer
        broken,  // nothing reaches the peer
    };

    awaitable<reading> read_head();
    reading refuse_head(const head_refusal& refusal);
    awaitable<fate> serve_request();
    awaitable<void> answer_request(exchange& x);
    awaitable<void> linger();
    void note(const exchange& x, deadline begin, const error_code& sent) const;

    server_context& server_;
    stream stream_;
    receive_buffer received_;
    request_head head_;
    request_target target_;
    response answer_;
    sender sender_;
    const std::uint64_t number_;
    std::uint64_t requests_ = 0;
    std::string request_id_;
    bool idle_ = false;  // between requests, with no byte of the next one
    bool draining_ = false;
};

}  // namespace cairn
