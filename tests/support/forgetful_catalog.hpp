// A catalog that loses in a crash what it did not sync: the twin of one that keeps its commits by
// the rule of engines/log_commits.hpp.
#pragma once

#include "engines/log_commits.hpp"
#include "engines/memory/memory_catalog.hpp"
#include "runtime/runtime.hpp"
#include "runtime/semaphore.hpp"
#include "tests/support/forwarding_catalog.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <variant>
#include <vector>

namespace cairn::test {

// What the catalogs of one store committed, boot after boot.
class commit_history {
public:
    void add(const change& what) {
        std::lock_guard lock(mutex_);
        const bool in_log = log_.hold(what);
        log_.note(what);
        events_.emplace_back(what);
        if (!in_log) synced_ = events_.size();
    }

    // The power goes: what was not synced is lost, with a seed only the later part of it, since any
    // commit may have become durable by itself. How many were lost.
    std::size_t crash(std::optional<std::uint64_t> seed) {
        std::lock_guard lock(mutex_);
        std::size_t kept = synced_;
        if (seed) kept += std::mt19937_64(*seed)() % (events_.size() - synced_ + 1);
        const std::size_t lost = events_.size() - kept;
        events_.resize(kept);
        return lost;
    }

    // From now on every put finds the disk full, or no longer.
    void refuse_puts(bool wanted) noexcept { refuses_puts_ = wanted; }
    bool refuses(const change& what) const noexcept {
        return refuses_puts_ && std::holds_alternative<put_blob>(what);
    }

    // From now on commits happen and nobody is told, or no longer.
    void lose_answers(bool wanted) noexcept { loses_answers_ = wanted; }
    bool loses_answers() const noexcept { return loses_answers_; }

    // Who holds it holds all commits back.
    semaphore& turn() noexcept { return turn_; }

    // As the next boot finds it.
    std::unique_ptr<memory_catalog> reopen(runtime& threads) {
        auto rows = std::make_unique<memory_catalog>();
        for (const event& each : events_) {
            if (const auto* what = std::get_if<change>(&each)) {
                (void)threads.run(rows->commit(*what));
            } else {
                rows->reopen();
            }
        }
        rows->reopen();
        events_.emplace_back(boot_began());
        synced_ = events_.size();
        log_ = log_commits();
        return rows;
    }

private:
    struct boot_began {};
    using event = std::variant<change, boot_began>;

    std::mutex mutex_;
    std::vector<event> events_;
    std::size_t synced_ = 0;
    log_commits log_;
    semaphore turn_{1};  // the history is in the order of the rows
    std::atomic<bool> refuses_puts_{false};
    std::atomic<bool> loses_answers_{false};
};

class forgetful_catalog final : public forwarding_catalog {
public:
    // Both outlive it.
    forgetful_catalog(commit_history& history, runtime& threads)
        : forwarding_catalog(history.reopen(threads)), history_(history) {}

    std::string name() const override { return "forgetful"; }

    awaitable<result<applied>> commit(change what) override {
        const semaphore::permit turn = co_await history_.turn().acquire();
        if (history_.refuses(what)) co_return error_code(errc::no_space);
        history_.add(what);
        auto done = co_await forwarding_catalog::commit(std::move(what));
        if (history_.loses_answers()) co_return error_code(errc::outcome_unknown);
        co_return done;
    }

private:
    commit_history& history_;
};

}  // namespace cairn::test
