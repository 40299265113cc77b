// What one process holds of a database: a boot, a few connections to read and a few to write.
//
// Catalog and bulk share it. All commits go through one lane: two would flush in turn, so that on a
// disk of slow syncs each would wait for the other's as well (at 24 callers one makes 1.0 to 1.4
// times as many). Bytes, whose transactions are large, go through the others and delay no commit;
// they are flushed by the commit that publishes them.
// Look-ups need no sync and are spread over the readers. Any thread.
#pragma once

#include "engines/blob_id.hpp"
#include "engines/postgres/lane.hpp"
#include "engines/postgres/schema.hpp"
#include "engines/postgres/server_url.hpp"
#include "engines/postgres/session_check.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/result.hpp"
#include "runtime/runtime.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cairn::postgres {

class database {
public:
    // Connects, makes or updates the schema, raises the boot and claims its lanes. `threads`
    // outlives it. Errors: errc::unavailable when no server of the URL answers in time, those of
    // check_session() and open_schema(), and the server's own (a wrong password, a missing right);
    // logged.
    static awaitable<result<std::unique_ptr<database>>> open(runtime& threads,
                                                             server_url server,
                                                             session_needs needs);

    std::uint64_t boot() const noexcept { return record_.boot; }
    const std::string& incarnation() const noexcept { return record_.incarnation; }
    bool replicated() const noexcept { return needs_.replicated; }
    // A person allowed a server that may lose what it acknowledged, and it is one.
    bool weak() const noexcept { return weak_; }
    std::string address() const { return server_.redacted(); }

    lane& commits() noexcept { return *lanes_.front(); }
    // The lane for the bytes of a container; the one for commits when there is no other.
    lane& bytes(std::uint64_t container) noexcept {
        return lanes_.size() == 1 ? commits() : *lanes_[1 + container % (lanes_.size() - 1)];
    }
    std::size_t reader_count() const noexcept { return readers_.size(); }
    link& reader_at(std::size_t index) noexcept { return *readers_[index % readers_.size()]; }
    // Where their work is done: queues in front of them should live there.
    const executor& commits_home() const noexcept { return commits_home_; }
    const executor& reader_home(std::size_t index) const noexcept {
        return reader_homes_[index % readers_.size()];
    }
    const std::vector<std::unique_ptr<lane>>& lanes() const noexcept { return lanes_; }
    // The index for reader_at().
    static std::size_t place_of(const blob_id& id) noexcept { return blob_id_hash()(id); }

    // Runs on a reader, and again when the connection was lost meanwhile: reading twice is safe.
    awaitable<result<answers>> read(std::size_t index, segment what);

    // Await before destruction; nobody uses it any more.
    awaitable<void> close();

private:
    database(server_url server, session_needs needs);
    awaitable<result<void>> start(runtime& threads);
    awaitable<std::unique_ptr<link>> connect(runtime& threads, executor home, greeter greet);
    awaitable<result<void>> greet(greeting& fresh);
    awaitable<result<void>> greet_lane(greeting& fresh, lane& of);

    const server_url server_;
    session_needs needs_;
    boot_record record_;
    std::atomic<bool> weak_{false};
    std::vector<std::unique_ptr<lane>> lanes_;
    executor commits_home_;
    std::vector<std::unique_ptr<link>> readers_;
    std::vector<executor> reader_homes_;
};

}  // namespace cairn::postgres
