// The protocol of one session as a machine: what must be sent for a segment, and what each answer
// of the server means. No sockets, no clock, no libpq: whoever has those tells it what came.
//
//     send() ──> dispatch, to be put on the wire ──> in flight ──> events ──> the call is answered
//
// A segment on the wire, and what comes back for it:
//
//     [ Parse ... Sync ]   Bind/Execute ...             Sync
//       only for what        one result each: rows,       ends the segment: now its call is
//       is not prepared      an error, or `aborted`       answered, with all rows or one error
//
// Statements are prepared under a Sync of their own, in front: a Parse behind an error of its
// segment would be skipped, and a later segment would miss it. The first error of a segment fails
// it and it alone; the server undoes it and skips the rest up to its Sync. Nothing is answered
// before that Sync: rows in front of it are rows of a transaction that may still fail, at its
// commit too. A segment that fails because the server lost or outgrew a prepared statement is sent
// once more, with that statement prepared anew.
//
// What cannot be (a result too many, a Sync too early) breaks the machine, as do the end of the
// session (SQLSTATE 57P01, 25006, ...) and a commit that standbys do not have. Broken, it takes no
// more events; its owner closes the session and calls lost().
//
// One thread.
#pragma once

#include "engines/postgres/call.hpp"
#include "engines/postgres/prepared.hpp"
#include "engines/postgres/rows.hpp"
#include "runtime/result.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace cairn::postgres {

struct pipeline_limits {
    std::size_t unanswered_bytes = 8 << 20;  // a larger segment is sent alone
    std::size_t unanswered_segments = 1024;
    std::chrono::milliseconds segment_timeout{15'000};
    bool prepare = true;  // false: each statement is sent with its text
};

class pipeline {
public:
    using time_point = std::chrono::steady_clock::time_point;

    // What goes on the wire for one segment, in this order.
    struct dispatch {
        struct parse {
            const char* server_name;
            const segment::step* step;
        };
        std::vector<parse> parses;              // then a Sync, unless there are none
        std::vector<const char*> server_names;  // of its steps; nullptr: to be sent with its text
        const segment* what = nullptr;          // then a Sync
    };

    explicit pipeline(pipeline_limits limits) : limits_(limits) {}

    // --- Sending.

    // Whether a segment of this size may be sent now. A lone segment always may.
    bool has_room(std::size_t size_bytes) const noexcept;
    // Takes the call in; what is returned is put on the wire at once (good until the next send()).
    const dispatch& send(std::shared_ptr<call> what, time_point now);
    // A call that must be sent once more; nullptr when there is none. Before all others.
    const dispatch* send_again(time_point now);

    // --- Events, each about the oldest segment in flight.

    void came_rows(rows answer);      // a statement (or Parse) succeeded
    void came_error(error_code why);  // it failed, or its commit did
    void came_aborted();              // not run, after an error before it
    void came_end();                  // the statement's results are complete
    void came_sync(time_point now);   // the segment is over
    void came_standby_warning();      // its commit did not wait for the standbys

    // The session is gone, or must go: all that was sent is answered errc::connection_lost.
    void lost();

    // --- State.

    bool is_broken() const noexcept { return bool(broken_); }
    error_code broken() const noexcept { return broken_; }
    // Something must still come.
    bool is_waiting() const noexcept { return !flights_.empty(); }
    std::size_t unanswered_segments() const noexcept { return flights_.size(); }
    std::size_t unanswered_bytes() const noexcept { return unanswered_bytes_; }
    // When the server will have owed the oldest answer for too long.
    std::optional<time_point> expires() const noexcept;
    // What the next result is of, for logs.
    const char* statement_name() const noexcept;

private:
    // Under one Sync: `size` results, each of them closed by an end, then the Sync itself.
    struct exchange {
        std::size_t size = 0;
        std::size_t done = 0;
        bool is_open = false;         // a result came, and its end did not
        bool is_failed = false;       // one of its statements
        bool is_sync_failed = false;  // its commit, or the session while it waited for the Sync
        bool at_sync() const noexcept { return done == size; }
    };
    struct flight {
        std::shared_ptr<call> what;
        std::vector<const char*> parsing;  // names of the statements under a Sync in front
        exchange now;
        answers got;
        error_code failure;  // the first
        time_point started;  // when the server could begin with it
        bool is_second = false;
        bool is_unreplicated = false;

        bool is_parsing() const noexcept { return !parsing.empty(); }
        const segment& segment_of() const noexcept { return what->what(); }
    };

    const dispatch& take_off(std::shared_ptr<call> what, time_point now, bool is_second);
    const char* name_for(flight& of, const segment::step& step);
    flight* front() noexcept;  // nullptr: nothing may come
    void forget_parse(const flight& of);
    void end_flight(time_point now);
    bool must_send_again(const flight& of) const noexcept;
    void forget_statements(const segment& of);
    result<answers> answer_of(flight& of);
    void break_off(error_code why) noexcept;

    const pipeline_limits limits_;
    prepared prepared_;
    std::deque<flight> flights_;
    std::deque<std::shared_ptr<call>> again_;
    std::size_t unanswered_bytes_ = 0;
    dispatch dispatch_;
    error_code broken_;
};

}  // namespace cairn::postgres
