// One TCP connection, with a deadline for every wait: the socket reads and writes of both sides.
//
// Everything happens on the thread of the socket's executor, one operation at a time. Calls that
// may wait try the socket first and take a deadline for the case that it is not ready. A deadline
// that passes, the end of the peer and a reset are error codes; what was sent or received by then
// is lost to the caller, so such a stream is only good for closing. Cancelled (terminal): throws.
#pragma once

#include "http/deadline_watch.hpp"
#include "io/file.hpp"
#include "runtime/bytes.hpp"
#include "runtime/result.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>

namespace cairn {

class stream final : private deadline_watch::entry {
public:
    using socket_type = asio::basic_stream_socket<asio::ip::tcp, executor>;

    // Takes a connected socket and sets it non-blocking, without Nagle's delay.
    stream(socket_type socket, deadline_watch& watch);
    ~stream();

    // At least one byte into `room`, which stays valid until then; 0 at the peer's orderly end.
    // errc::timed_out when nothing came until `at`.
    awaitable<result<std::size_t>> read_some(mutable_byte_view room, deadline at);

    // Sends what the socket takes without waiting, first `head`, then `body`: how much that was.
    result<std::size_t> try_write(byte_view head, byte_view body) noexcept;

    // Sends all of both, which stay valid until then. errc::timed_out when the peer takes nothing
    // for `stall`. `more` announces that the next write follows at once.
    awaitable<result<void>> write(byte_view head,
                                  byte_view body,
                                  std::chrono::milliseconds stall,
                                  bool more = false);

    // Sends up to `size_bytes` at `offset` of a file by sendfile, waiting until at least something
    // went out. Blocks the thread when the pages are not in memory.
    awaitable<result<std::size_t>> send_file(const file& from,
                                             std::uint64_t offset,
                                             std::size_t size_bytes,
                                             std::chrono::milliseconds stall);

    // Whether bytes, or the end, could be read at once.
    bool is_readable() noexcept;

    // Ends a wait that is under way as if its deadline had passed.
    void interrupt();

    // Tells the peer that nothing more comes; reading goes on.
    void finish_writing() noexcept;

private:
    void expire() override { interrupt(); }

    awaitable<result<void>> wait_writable(std::chrono::milliseconds stall);
    // A peer that took nothing gets a reset when we close: the kernel would go on holding what it
    // did not take, for minutes.
    void forget_unsent() noexcept;
    // What an operation's error means; throws when it is a cancellation and not our deadline.
    error_code explain(error_code ec);

    socket_type socket_;
    bool expired_ = false;
};

}  // namespace cairn
