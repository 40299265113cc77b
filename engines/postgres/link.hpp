// One connection of a process to its PostgreSQL server, kept up: lost, it comes back by itself.
//
//     down ──connect, greet──> up ──lost──> down     down for `outage_patience`: refusing
//
// Segments are pipelined: those of all callers are sent one behind the other without waiting for
// answers, and run on the server in the order in which they were given. Down, they wait for the
// next connection; once the outage has lasted `outage_patience`, those that wait and all that come
// are refused at once, so that callers do not pile up behind a server that is away. Connects are
// retried with a jittered, growing delay.
//
// A peer that is silent for `segment_timeout` while it owes an answer is taken for dead, and the
// connection is closed.
//
// Threads: all members from any executor; the work is done on `home`, one thread. The caller's
// executor outlives its call. Shutdown: await close() before destruction (CHECKed).
#pragma once

#include "engines/postgres/backoff.hpp"
#include "engines/postgres/segment.hpp"
#include "engines/postgres/server_url.hpp"
#include "engines/postgres/ticket.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/blocking_pool.hpp"
#include "runtime/doorbell.hpp"
#include "runtime/result.hpp"
#include "runtime/semaphore.hpp"
#include "runtime/task_scope.hpp"

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace cairn::postgres {

class attempt;
class call;
class connection;

// A fresh connection, before anybody else's segments are sent on it.
class greeting {
public:
    explicit greeting(connection& fresh) noexcept : fresh_(fresh) {}

    // As link::run(), on this very connection. On the link's home thread, inside the greeter.
    awaitable<result<answers>> run(segment what);

private:
    connection& fresh_;
};

// Runs after each connect: looks at the server's settings, claims what belongs to this session. An
// error closes the connection. If that error is retryable or the connection went meanwhile, it is
// as if the connect had failed; any other is what callers are answered until a greeting succeeds.
using greeter = std::function<awaitable<result<void>>(greeting& fresh)>;

struct link_options {
    // Sent and not yet answered; more waits in the queue. A larger segment is sent alone.
    std::size_t unanswered_bytes = 8 << 20;
    std::size_t unanswered_segments = 1024;
    // Started and not yet answered; more callers than these wait for room in run().
    std::size_t queue_segments = 4096;
    std::chrono::milliseconds connect_timeout{2000};  // for each address
    std::chrono::milliseconds segment_timeout{15'000};
    std::chrono::milliseconds outage_patience{5000};
    std::chrono::milliseconds retry_delay_min{50};
    std::chrono::milliseconds retry_delay_max{1000};
};

struct link_status {
    bool connected = false;
    std::chrono::system_clock::time_point since;  // in this state
    std::string server;                           // redacted; host and port when connected
    std::uint64_t connects = 0;                   // since the start
    std::string last_error;                       // why it was down last, without secrets
    std::size_t queued_segments = 0;              // wait to be sent
    std::size_t unanswered_segments = 0;          // sent
    std::size_t unanswered_bytes = 0;
};

class link {
public:
    // Begins to connect, and does not wait for it. `home` and `pool` (for names) outlive it.
    static awaitable<std::unique_ptr<link>> open(executor home,
                                                 blocking_pool& pool,
                                                 server_url server,
                                                 link_options options = {},
                                                 greeter greet = {});
    ~link();

    // Runs the segment; success means that its Sync came with no error before it: all of it is
    // committed. Errors:
    //   a postgres code        of the first statement that failed; nothing of the segment happened
    //   errc::no_space         the server's disk is full; nothing happened
    //   errc::unavailable      no connection; nothing was sent
    //   errc::connection_lost  it was sent and the answer did not come, or came with the warning
    //                          that standbys do not have it: it may have happened
    //   errc::closed           after close(); nothing was sent
    //   errc::too_large        more than a message of the protocol can carry; nothing was sent
    //   what the greeter said  while every greeting fails; nothing was sent
    // Cancelled before it was sent: withdrawn, throws. After: abandoned, it may happen; throws.
    awaitable<result<answers>> run(segment what);

    // Begins a run() and comes back at once; the answer is fetched from the ticket. When the queue
    // is full it begins only when the ticket is asked for its answer.
    ticket start(segment what);

    link_status status() const;

    // Refuses what comes from now on; answers all that was started (what cannot be sent at once,
    // with errc::closed), then says goodbye to the server. Not cancellable.
    awaitable<void> close();

private:
    friend class ticket;

    link(
        executor home, blocking_pool& pool, server_url server, link_options options, greeter greet);

    // --- Any thread.
    void begin(const std::shared_ptr<call>& what);
    void refuse_with(error_code why);
    std::shared_ptr<call> take_next(const connection& to);

    // --- Home.
    awaitable<void> start_loops();
    awaitable<void> shut();
    awaitable<void> listen();
    awaitable<void> lose_patience();
    awaitable<void> keep_up();
    awaitable<bool> serve_guarded();
    awaitable<bool> serve_once();
    awaitable<attempt> connect_anywhere();
    awaitable<bool> greet(connection& fresh);
    void go_up(connection& fresh);
    void go_down(std::string why, std::size_t lost_segments);
    void note_trouble(std::string why);
    void pump();

    const executor home_;
    blocking_pool& pool_;
    const server_url server_;
    const link_options options_;
    const greeter greet_;
    semaphore room_;
    doorbell arrivals_;

    mutable std::mutex mutex_;  // guards the three below
    std::deque<std::shared_ptr<call>> queue_;
    error_code refusal_;  // what callers are told at once; none while they may wait
    link_status status_;

    // Touched on home_ alone.
    connection* up_ = nullptr;  // greeted; lives in serve_once()
    bool is_closing_ = false;
    bool is_logged_down_ = false;  // one line for each outage
    std::size_t first_place_ = 0;  // the one that worked last
    std::string place_;            // of the latest connection
    backoff retry_;
    asio::steady_timer patience_;
    task_scope loops_;
};

}  // namespace cairn::postgres
