// One io_uring on one io_context: reads, writes and data syncs that end on the loop which began
// them.
//
// The state of an operation: waiting (for a slot) -> in a slot, in the kernel -> its completion
// (CQE) arrived -> its caller is posted to the caller's own executor. All that were started in one
// turn of the loop enter the kernel with one system call, at the end of that turn, and what
// completed at once is reaped in the same breath; an eventfd in the loop tells of the rest.
//
// Threads: start an operation from any thread and executor; everything else happens on the
// context's one thread. Ownership: the buffer, the descriptor and the caller's continuation live in
// the slot until the operation's own CQE, whatever became of the caller, because the kernel uses
// the buffer until then. An operation cannot be cancelled: the caller waits for its end.
//
// Bounds: there are no more slots than CQ entries, so completions are never lost; further
// operations wait in order. That queue holds one entry for each suspended caller, and callers are
// bounded upstream.
//
// The ring is a service of the context. When the context is destroyed, the suspended callers are
// destroyed first, then the kernel is asked to give up and waited for, and only then are buffers
// and descriptors let go.
#pragma once

#include "io/operation.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/handover.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct io_uring;

namespace cairn {

struct ring_options {
    unsigned submissions = 256;  // entered by one system call
    unsigned in_flight = 1024;   // in the kernel at once, and so the size of the CQ
};

class ring final : public asio::execution_context::service {
public:
    static asio::execution_context::id id;

    // Why this kernel, or this sandbox, refuses what the ring needs, with a hint; empty when a real
    // write and sync through io_uring work here. Blocks for a few system calls.
    static std::string refusal();

    // The context's ring, made at the first call; later options are ignored. Call it before the
    // context runs, or from any thread while it runs. Throws system_error when the kernel refuses.
    static ring& of(asio::io_context& context, ring_options options = {});

    // The ring of the loop that runs on this thread; null when there is none.
    static ring* of_this_thread() noexcept;

    // Makes the operation's calls until it is finished and gives it back.
    awaitable<operation> run(operation work);

    // Operations in the kernel. On the context's thread.
    std::size_t in_flight() const noexcept { return slots_.size() - free_.size(); }

    // For of() and Asio's registry: the context is an io_context.
    explicit ring(asio::execution_context& context, ring_options options = {});
    ~ring() override;

private:
    struct entry {
        operation work;
        executor home;
        asio::any_completion_handler<void(operation)> caller;
        handover* home_coming = nullptr;  // in the caller's frame
    };

    void shutdown() override;

    void start(entry begun);
    void enqueue(entry begun);
    void schedule_turn();
    void turn();
    void prepare();
    void submit();
    void reap();
    void end_call(std::size_t slot, int answer);
    void watch();
    void drain();

    asio::io_context& context_;
    std::unique_ptr<io_uring> ring_;
    std::deque<entry> waiting_;
    std::vector<std::optional<entry>> slots_;  // what is in the kernel; a CQE names its index
    std::vector<std::size_t> free_;            // indices of the empty slots
    bool turn_posted_ = false;
    bool watching_ = false;
    unsigned submit_failures_ = 0;  // in a row
    std::uint64_t event_count_ = 0;
    asio::posix::stream_descriptor event_;
    asio::steady_timer again_;
};

}  // namespace cairn
