// Deadlines of many connections, kept by one coarse timer.
//
// Setting a deadline is one store, so the hot path pays no timer; a deadline is noticed up to one
// tick late. Everything runs on one executor's thread. Entries leave before the watch goes.
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/deadline.hpp"

#include <chrono>
#include <memory>

namespace cairn {

class deadline_watch {
public:
    // What can run out of time: in the watch from construction to destruction.
    class entry {
    public:
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;

    protected:
        explicit entry(deadline_watch& watch);
        ~entry();

        void due_at(deadline at) noexcept { due_ = at; }
        void never_due() noexcept { due_ = deadline::max(); }

        // Called once the deadline has passed; no further call until the next due_at(). Must not
        // destroy entries.
        virtual void expire() = 0;

    private:
        friend class deadline_watch;
        deadline_watch& watch_;
        deadline due_ = deadline::max();
        entry* previous_ = nullptr;
        entry* next_ = nullptr;
    };

    deadline_watch(executor home, std::chrono::milliseconds tick);
    deadline_watch(const deadline_watch&) = delete;
    deadline_watch& operator=(const deadline_watch&) = delete;
    ~deadline_watch();

private:
    class ticker;

    void add(entry& one);
    void remove(entry& one) noexcept;
    void check();

    entry* first_ = nullptr;
    // Shared with the timer's handler, which may outlive this.
    std::shared_ptr<ticker> ticker_;
};

}  // namespace cairn
