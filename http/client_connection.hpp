// One connection to a server, as its client: sends a request's bytes, reads the reply's.
//
// Everything happens on the executor that opened it, one call at a time. After an error, and unless
// reusable() says so, it is only good for destruction. Cancelled: throws, likewise.
#pragma once

#include "http/chunked.hpp"
#include "http/deadline_watch.hpp"
#include "http/endpoint.hpp"
#include "http/receive_buffer.hpp"
#include "http/reply_head.hpp"
#include "http/stream.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cairn {

struct client_settings {
    std::chrono::milliseconds connect_time{10'000};
    // Until a reply begins: a server answers a large upload only when it is durable.
    std::chrono::milliseconds reply_time{120'000};
    // For leave to send a body; who does not know `Expect` gives none.
    std::chrono::milliseconds leave_time{1'000};
    std::chrono::milliseconds stall_time{60'000};
};

class client_connection {
public:
    // Resolves the name and connects on the caller's executor.
    static awaitable<result<std::unique_ptr<client_connection>>> open(host_port to,
                                                                      client_settings settings);

    client_connection(executor home, stream::socket_type socket, client_settings settings);

    const executor& home() const noexcept { return home_; }
    const client_settings& settings() const noexcept { return settings_; }

    // All of both, which stay valid until then.
    awaitable<result<void>> send(byte_view head, byte_view body);

    // The next head, an interim one too. errc::malformed when it is none; errc::closed when the
    // server ended the connection before a first byte of it.
    awaitable<result<reply_head>> read_head(std::string_view method);

    // Waits for the reply to begin: the count of its bytes that are here, 0 when none came in time.
    awaitable<result<std::size_t>> await_reply(std::chrono::milliseconds time);

    // The next window of the reply's body; empty at its end. errc::short_body when it is cut.
    awaitable<result<buffer>> read_body();

    bool body_ended() const noexcept;
    // Its reply is read to the end and the server keeps it open.
    bool reusable() const noexcept { return keeps_alive_ && body_ended(); }
    // It is not used again: not all of its request was sent.
    void abandon() noexcept { keeps_alive_ = false; }
    // Nothing is waiting to be read: on an idle connection, that the server has not closed it.
    bool is_quiet() noexcept { return received_.unread().empty() && !stream_.is_readable(); }

private:
    enum class framing { none, length, chunked, to_end };

    awaitable<result<std::size_t>> receive(deadline at);
    std::uint64_t run_bytes() const noexcept;
    void moved(std::uint64_t count) noexcept;

    const executor home_;
    const client_settings settings_;
    deadline_watch watch_;
    stream stream_;
    receive_buffer received_;
    framing framing_ = framing::none;
    bool keeps_alive_ = false;
    bool at_end_ = false;  // of a body that lasts until the server closes
    std::uint64_t left_ = 0;
    chunked_decoder decoder_;
};

}  // namespace cairn
