// Gives back space that is dead beside what lives: what a half-dead segment still holds is copied
// elsewhere, in the background, until the whole segment can go.
//
// The order is SAFETY.md R4.3: the copy is checked, hashed and synced; then the row moves, by
// compare-and-set, and with that the old place becomes dead space; a segment that holds nothing any
// more goes by way of `reclaim`. Only sealed segments are taken (R2.4). A crash between any two
// leaves a copy that no row names, which is dead space. A reader of the old place goes on; one that
// comes too late looks up again where the blob is now.
//
// On a full disk it goes on as removals do, with what room there is: the emptiest segments first.
#pragma once

#include "engines/bulk.hpp"
#include "engines/catalog.hpp"
#include "runtime/channel.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/metrics.hpp"
#include "runtime/task_scope.hpp"
#include "store/row_cache.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace cairn {

struct compaction_options {
    std::chrono::milliseconds look_every{5'000};  // while there is nothing to do
    std::chrono::milliseconds pause{1'000};       // until load is looked for again
    double time_share = 0.2;                      // of its time in which it works, unless in haste
    double bytes_per_second = 64 << 20;           // of copies, at most
    std::size_t copies_at_once = 128;             // which share their syncs
    std::size_t load_puts = 4;                    // more puts of bulk than these under way are load
};

// How the store is doing. Compaction is in haste, so that it neither waits for load to pass nor
// keeps to its share of time, while there is no room or more is dead than lives.
enum class pressure {
    none,
    load,
    space,  // the last put of bulk found no room
};

class compactor {
public:
    // All of it outlives the compactor, and is called from its thread.
    struct surroundings {
        catalog& rows;
        bulk& bytes;
        row_cache& cache;
        fail_stop& stop;
        std::function<pressure()> feel;
        // What to do about a blob that failed a check, and about what a change did.
        std::function<awaitable<result<bool>>(row_cache::row_ptr, std::string)> suspect;
        std::function<void(const applied&)> note;
    };

    // Runs on `home`; `counts` outlives it.
    compactor(executor home,
              metrics& counts,
              surroundings around,
              const compaction_options& options);

    // Begins; any executor, once. It looks for the first time when look_every has passed.
    awaitable<void> start();
    // Finishes the copies in hand and ends. What is half emptied goes on after
    // the next start.
    awaitable<void> close();

private:
    using clock = std::chrono::steady_clock;

    using row_ptr = row_cache::row_ptr;

    awaitable<void> run();
    awaitable<void> start_here();
    awaitable<void> rest(clock::duration time);
    awaitable<result<void>> woken();
    awaitable<bool> compact_guarded();
    awaitable<result<bool>> compact_some();
    awaitable<result<std::vector<segment_row>>> survey();
    bool is_left_alone(const segment_row& each) const;

    awaitable<result<void>> empty(const segment_row& from);
    awaitable<result<void>> settle(std::uint64_t segment);
    awaitable<result<void>> move_records(std::uint64_t segment);
    awaitable<result<void>> make_way();
    awaitable<void> rest_after(clock::time_point began_at, std::uint64_t copied_bytes);

    awaitable<result<std::uint64_t>> move_group(std::span<const found_record> group);
    awaitable<result<std::uint64_t>> move_one(found_record record);
    awaitable<result<std::unique_ptr<draft>>> copy(row_ptr of);

    const executor home_;
    const surroundings around_;
    const compaction_options options_;
    counter& emptied_;
    counter& moved_;
    counter& gone_;
    counter& copied_bytes_;
    std::atomic<double> paused_seconds_{0};
    std::atomic<std::size_t> left_alone_count_{0};
    const metrics::gauge_handle paused_gauge_;
    const metrics::gauge_handle left_alone_gauge_;

    bool mostly_dead_ = false;                           // as the last survey found it
    std::map<std::uint64_t, std::uint64_t> left_alone_;  // could not be emptied; their live bytes
    channel<std::monostate> closing_{1};                 // nothing is ever put into it
    task_scope scope_;
};

}  // namespace cairn
