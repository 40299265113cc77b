// One writing connection of a boot: its write transactions, and what keeps them apart from those of
// the connections before it.
//
// A connection may be lost while its backend lives on: waiting for a lock, or with a COMMIT that
// nobody heard the answer of. Such a transaction must not come to pass after ours has gone on
// (SAFETY.md R1.5). So a lane has a row in `totals` with a generation. Every transaction locks that
// row first and fails unless its generation is the current one; each new connection raises it, and
// thereby waits for the old backend's transaction or shuts it out. Only then is what was lost run
// again.
//
// Any executor; transactions run on the server in the order of the calls.
#pragma once

#include "engines/postgres/link.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/result.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace cairn::postgres {

// A transaction that outlived its generation: CA001.
bool is_fenced(const error_code& ec) noexcept;
// An upload that a sweeper has taken: CA002.
bool is_upload_lost(const error_code& ec) noexcept;

// When a lane's commits are flushed: before they are answered; or later, by any commit of another
// lane that is flushed, because the log is flushed in its order.
enum class flush { now, later };

class lane {
public:
    // Adds the statements of a transaction; called again for each time that it runs.
    using writing = std::function<void(segment&)>;

    lane(std::uint64_t boot, std::uint64_t number, flush when, bool replicated) noexcept
        : boot_(boot), number_(number), flush_(when), replicated_(replicated) {}

    // Raises the generation, on a connection before anything else: for its greeter.
    awaitable<result<void>> claim(greeting& fresh);
    void use(std::unique_ptr<link> over) noexcept { link_ = std::move(over); }

    // Returns once the connection is up and has its generation; the errors of link::run().
    awaitable<result<void>> ready();

    std::uint64_t boot() const noexcept { return boot_; }
    std::uint64_t number() const noexcept { return number_; }
    link& connection() noexcept { return *link_; }

    // Runs the transaction until its outcome is known: again after a lost connection, a deadlock or
    // a serialization failure. The answers are those of what `write` added. Errors: a postgres code
    // or errc::no_space (nothing happened); errc::unavailable when the server stayed away too long
    // (it may have happened). Cancelled: throws; it may happen.
    awaitable<result<answers>> transact(writing write);

    // Begins one run of the transaction; transact() runs it again when its ticket failed and
    // may_run_again() says that this is of use. The ticket's first answer is that of the fence.
    ticket start(const writing& write);
    static bool may_run_again(const error_code& ec) noexcept;

    awaitable<void> close();

private:
    segment begin() const;
    awaitable<result<void>> claim_again(std::int64_t lost);

    const std::uint64_t boot_;
    const std::uint64_t number_;
    const flush flush_;
    const bool replicated_;
    std::atomic<std::int64_t> generation_{0};
    std::unique_ptr<link> link_;
};

}  // namespace cairn::postgres
