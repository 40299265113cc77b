// The uploads of this process: containers that are being written, or written and undecided.
//
// On shared bulk an upload is a `reclaim` row whose time its owner keeps moving (SAFETY.md R2.5).
// When the owner dies, or cannot reach the server for `upload_patience`, the time comes and any
// process may sweep the bytes; an owner that wakes up later is refused by the statement itself.
#pragma once

#include "engines/postgres/database.hpp"
#include "runtime/task_scope.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace cairn::postgres {

inline constexpr std::chrono::seconds upload_patience{60};

class uploads {
public:
    // `in` outlives it; renewing runs on its lane for commits.
    explicit uploads(database& in);

    // Held by an upload from before its first transaction until the catalog has decided.
    class living {
    public:
        living(uploads& of, std::uint64_t container) : of_(of), container_(container) {
            of_.add(container_);
        }
        ~living() { of_.remove(container_); }
        living(const living&) = delete;
        living& operator=(const living&) = delete;
        std::uint64_t container() const noexcept { return container_; }

    private:
        uploads& of_;
        const std::uint64_t container_;
    };

    // A number that no boot has used: this boot's, and a count.
    std::uint64_t next_container() noexcept;

    awaitable<void> start();
    awaitable<void> close();

private:
    void add(std::uint64_t container);
    void remove(std::uint64_t container);
    awaitable<void> start_here();
    awaitable<void> stop_here();
    awaitable<void> renew_until_stopped();
    awaitable<void> renew();

    database& in_;
    std::mutex mutex_;
    std::unordered_set<std::uint64_t> living_;
    std::uint64_t count_ = 0;
    task_scope scope_;
};

}  // namespace cairn::postgres
