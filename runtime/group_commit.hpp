// Many callers wait, one durable step pays for all of them, and each is answered after that step.
//
// A durable step (an fdatasync, a COMMIT) costs the same for one request as for hundreds. So
// requests that arrive while a step runs gather behind it; when it ends, all that gathered, in the
// order in which they came and up to the batch limits, are the next batch. Nothing ever waits for a
// batch to fill: a lone request runs at once, and load alone makes batches large. This is the one
// idea that the SQLite writer, the segments' data sync and the readers' look-up batches share.
//
//     submit() ──> room ──> queue ──> batch ──> step ──> replies
//                  waits    may be    never two at       each on its
//                           left      the same time      caller's executor
//
// A step answers for its whole batch with an outcome:
//   committed  every entry holds its own reply, success or error, and all of it is durable;
//   untouched  nothing happened: the batch is halved and each half runs again, so that a request
//              that spoils its batch is found and fails alone (a request untouched alone gets the
//              reply that the step left in it);
//   unknown    a sync failed: nobody in the batch is told that it happened, the store's fail_stop
//              is tripped, and everyone behind is answered errc::stopped (SAFETY.md R6).
// A step that throws has the outcome unknown. Where memory runs out in this class itself the
// process ends: everyone would wait for a step that nobody runs, and by ending nothing that was
// answered is lost.
//
// Threads: submit() from any executor; the step runs on `home`. The caller's executor must outlive
// its call. Shutdown: await close(), which drains, before destruction (CHECKed).
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/check.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/result.hpp"
#include "runtime/semaphore.hpp"
#include "runtime/waiter.hpp"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cairn {

enum class outcome { committed, untouched, unknown };

struct group_commit_limits {
    std::size_t queue_entries = 4096;  // more callers than this wait for room
    std::size_t batch_entries = 1024;
    std::size_t batch_bytes = 4 << 20;  // of cost(); a larger request is a batch of its own
};

// Counted since the start; any thread may read them.
struct group_commit_counts {
    std::uint64_t batches = 0;
    std::uint64_t entries = 0;

    group_commit_counts& operator+=(const group_commit_counts& other) noexcept {
        batches += other.batches;
        entries += other.entries;
        return *this;
    }
};

template <class Request, class Reply>
class group_commit {
public:
    struct entry {
        Request request;
        result<Reply> reply = error_code(errc::unanswered);
    };
    using step = std::function<awaitable<outcome>(std::span<entry>)>;
    using cost = std::size_t (*)(const Request&);

    // `name` appears in the reason of a stop. The step and `stop` outlive this object's close().
    group_commit(
        std::string name,
        executor home,
        fail_stop& stop,
        step run,
        group_commit_limits limits = {},
        cost bytes_of = [](const Request&) -> std::size_t { return 0; })
        : name_(std::move(name)),
          home_(std::move(home)),
          stop_(stop),
          step_(std::move(run)),
          limits_(limits),
          bytes_of_(bytes_of),
          room_(limits.queue_entries) {
        callers_.reserve(limits.batch_entries);
        batch_.reserve(limits.batch_entries);
    }

    ~group_commit() {
        CAIRN_CHECK(visitors_ == 0);
        CAIRN_CHECK(!running_);
    }

    // Waits for room, then for the step. The reply that the step left for this request; or
    // errc::closed after close(), errc::stopped once stopped (nothing happened), or
    // errc::outcome_unknown if the sync under this very request failed.
    // Cancelled before its batch: withdrawn, nothing happened, throws. Cancelled in its batch: it
    // still waits for the reply and returns it, since the step is happening.
    awaitable<result<Reply>> submit(Request request) {
        const visit inside(*this);
        if (!inside.admitted()) co_return inside.refusal();
        const semaphore::permit room = co_await room_.acquire();
        pending self(std::move(request));
        const auto link = [this, &self] { enqueue(self); };
        const auto withdraw = [this, &self] { return take_out(self); };
        co_await park(self, link, withdraw);
        co_return std::move(self.item.reply);
    }

    // Refuses what comes from now on with errc::closed; returns when all that was submitted before
    // has its reply and has left. Not cancellable: what is under way completes.
    awaitable<void> close() {
        waiter self;
        const auto link = [this, &self] { enqueue_closer(self); };
        const auto withdraw = [] { return false; };
        co_await park(self, link, withdraw);
    }

    group_commit_counts counts() const noexcept { return {batches_.load(), entries_.load()}; }

private:
    struct pending : waiter {
        explicit pending(Request r) : item{.request = std::move(r)} {}
        entry item;
        bool queued = false;  // guarded by mutex_
    };

    // A caller between the first and the last line of submit(): close() waits for all of them.
    class visit {
    public:
        explicit visit(group_commit& to) : to_(to) {
            std::lock_guard lock(to_.mutex_);
            admitted_ = to_.admits();
            if (!admitted_) return;
            ++to_.visitors_;
        }
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
        ~visit() {
            if (admitted_) to_.leave();
        }
        bool admitted() const noexcept { return admitted_.has_value(); }
        error_code refusal() const noexcept { return admitted_.error(); }

    private:
        group_commit& to_;
        result<void> admitted_;
    };

    result<void> admits() const {
        if (closed_) return errc::closed;
        return stop_.check();
    }

    void enqueue(pending& self) {
        result<void> open;
        bool first = false;
        {
            std::lock_guard lock(mutex_);
            open = admits();
            self.queued = open.has_value();
            if (self.queued) {
                queue_.push_back(self);
                first = !std::exchange(running_, true);
            }
        }
        if (!open) {
            self.item.reply = open.error();
            return self.resume();
        }
        if (first) start_batches();
    }

    // Owned by close(): it returns only after this coroutine has ended.
    void start_batches() noexcept {
        constexpr auto on_end = [](const std::exception_ptr& failed) {
            if (failed) std::terminate();
        };
        asio::co_spawn(home_, run_batches(), on_end);
    }

    bool take_out(pending& self) {
        std::lock_guard lock(mutex_);
        if (!std::exchange(self.queued, false)) return false;
        queue_.erase(self);
        return true;
    }

    void enqueue_closer(waiter& self) {
        wait_list done;
        {
            std::lock_guard lock(mutex_);
            closed_ = true;
            closers_.push_back(self);
            done = closers_if_empty();
        }
        resume_all(done);
    }

    void leave() {
        wait_list done;
        {
            std::lock_guard lock(mutex_);
            --visitors_;
            done = closers_if_empty();
        }
        resume_all(done);
    }

    // Those who wait in close(), for whoever is the last to leave. Under mutex_.
    wait_list closers_if_empty() {
        if (visitors_ > 0 || running_) return {};
        return std::exchange(closers_, {});
    }

    // The last thing that is done here: a closer may destroy *this as soon as it goes on.
    static void resume_all(wait_list& list) {
        while (waiter* each = list.pop_front()) each->resume();
    }

    // Lives while there is work; one at a time.
    awaitable<void> run_batches() {
        // A turn of the loop before each batch: who was answered on this thread, or is about to
        // submit in this turn, comes along. Without it two halves of the callers take turns.
        co_await asio::post(asio::use_awaitable);
        while (gather()) {
            co_await run_guarded();
            for (std::size_t i = 0; i < batch_.size(); ++i) {
                callers_[i]->item.reply = std::move(batch_[i].reply);
                callers_[i]->resume();
            }
            co_await asio::post(asio::use_awaitable);
        }
    }

    // The next batch, in order of arrival; false, and closers go on, when nobody waits.
    bool gather() {
        wait_list done;
        {
            std::lock_guard lock(mutex_);
            fill_batch();
            running_ = !batch_.empty();
            if (running_) return true;
            done = closers_if_empty();
        }
        resume_all(done);
        return false;
    }

    void fill_batch() {
        callers_.clear();
        batch_.clear();
        std::size_t bytes = 0;
        while (!queue_.empty() && batch_.size() < limits_.batch_entries) {
            auto& next = static_cast<pending&>(queue_.front());
            bytes += bytes_of_(next.item.request);
            if (bytes > limits_.batch_bytes && !batch_.empty()) break;
            queue_.pop_front();
            next.queued = false;
            callers_.push_back(&next);
            batch_.push_back(std::move(next.item));
        }
    }

    awaitable<void> run_guarded() {
        try {
            co_await run(batch_);
        } catch (const std::exception& e) {
            stop_.trip(errc::outcome_unknown, name_ + " threw \"" + e.what() + "\"");
            answer_all(batch_, errc::outcome_unknown);
        }
    }

    awaitable<void> run(std::span<entry> batch) {
        if (stop_.tripped()) {
            answer_all(batch, errc::stopped);
            co_return;
        }
        batches_.fetch_add(1, std::memory_order_relaxed);
        entries_.fetch_add(batch.size(), std::memory_order_relaxed);
        const outcome ended = co_await step_(batch);
        if (ended == outcome::unknown) {
            stop_.trip(errc::outcome_unknown, name_);  // after the step's own, better reason
            answer_all(batch, errc::outcome_unknown);
        } else if (ended == outcome::untouched && batch.size() > 1) {
            const std::size_t half = batch.size() / 2;
            answer_all(batch, errc::unanswered);
            co_await run(batch.first(half));
            co_await run(batch.subspan(half));
        }
    }

    static void answer_all(std::span<entry> batch, errc reason) {
        for (entry& each : batch) each.reply = error_code(reason);
    }

    const std::string name_;
    const executor home_;
    fail_stop& stop_;
    const step step_;
    const group_commit_limits limits_;
    const cost bytes_of_;
    semaphore room_;

    std::mutex mutex_;
    bool running_ = false;
    bool closed_ = false;
    std::size_t visitors_ = 0;
    wait_list queue_;
    wait_list closers_;
    std::vector<pending*> callers_;  // of the running batch; touched on home_ alone
    std::vector<entry> batch_;
    std::atomic<std::uint64_t> batches_{0};
    std::atomic<std::uint64_t> entries_{0};
};

}  // namespace cairn
