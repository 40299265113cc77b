// One open connection: a session of libpq and the pipeline over it, until it is lost or closed.
//
// Three coroutines of its own: one reads what comes and answers the calls, one writes what the
// socket did not take at once (reading goes on meanwhile, or both sides would wait for each other),
// one looks for a peer that has been silent for too long. Whatever ends the connection, all that
// was sent is then answered, and the socket stays open until the three have ended.
//
// Home thread alone. Await ended() before destruction (CHECKed).
#pragma once

#include "engines/postgres/call.hpp"
#include "engines/postgres/pipeline.hpp"
#include "engines/postgres/readiness.hpp"
#include "engines/postgres/segment.hpp"
#include "engines/postgres/session.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/doorbell.hpp"
#include "runtime/task_scope.hpp"

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct pg_result;

namespace cairn::postgres {

class connection {
public:
    // `on_answers` is called after calls were answered: there may be room for more.
    connection(executor home,
               session open,
               pipeline_limits limits,
               std::function<void()> on_answers);
    ~connection();

    // Whether a segment of this size may be sent now; never once it has ended.
    bool has_room(std::size_t size_bytes) const noexcept;
    // Sends the call's segment, or, once the connection has ended, answers errc::unavailable.
    void send(std::shared_ptr<call> what);
    // After a number of send()s: hands on what libpq still holds.
    void flush();

    // Sends at once, whatever the room. Cancelled: as link::run().
    awaitable<result<answers>> run(segment what);

    std::size_t unanswered_segments() const noexcept { return machine_.unanswered_segments(); }
    std::size_t unanswered_bytes() const noexcept { return machine_.unanswered_bytes(); }

    void close() { end("closed"); }
    // Returns when it has ended and its coroutines too. Not cancellable.
    awaitable<void> ended();
    bool is_open() const noexcept { return is_open_; }
    // Why it ended, and how much was unanswered then.
    const std::string& trouble() const noexcept { return trouble_; }
    std::size_t lost_segments() const noexcept { return lost_segments_; }

private:
    // Ends the connection when a coroutine of it ends, be it by an exception.
    class ending;

    awaitable<void> read();
    awaitable<void> write();
    awaitable<void> watch();

    bool receive();
    void take_results();
    void take(pg_result* result);
    void take_error(const pg_result* result);
    bool note_farewell(const pg_result* said);
    void log_error(const error_code& why, const pg_result* result) const;
    static void take_notice(void* self, const pg_result* notice);
    void send_again();

    bool put(const pipeline::dispatch& what);
    bool put_parse(const pipeline::dispatch::parse& what);
    bool put_step(const segment::step& what, const char* server_name);
    void put_or_end(const pipeline::dispatch& what);

    void end_broken();
    void end(std::string why);

    // Parameters as libpq's calls want them.
    struct wire {
        void set(const parameters& with);
        int size = 0;
        std::vector<unsigned> types;
        std::vector<const char*> values;
        std::vector<int> lengths;
        std::vector<int> formats;
    };

    session session_;
    readiness socket_;
    pipeline machine_;
    const std::function<void()> on_answers_;
    const std::chrono::milliseconds segment_timeout_;
    wire wire_;
    doorbell must_flush_;
    asio::steady_timer silence_;
    bool is_open_ = true;
    std::string farewell_;
    std::string trouble_;
    std::size_t lost_segments_ = 0;
    task_scope loops_;
};

}  // namespace cairn::postgres
