// Makes and ends segments: the row first, then the file, then its directory (SAFETY.md R1.2, R2.2).
//
// Any executor. Numbers are boot << 32 | n, so no number and no file name is ever used again.
#pragma once

#include "engines/catalog.hpp"
#include "engines/intake.hpp"
#include "io/file.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/group_commit.hpp"
#include "runtime/runtime.hpp"
#include "runtime/task_scope.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

namespace cairn {

class segment_maker {
public:
    // Everything outlives it. Background work runs on `home`.
    segment_maker(executor home,
                  file_system& files,
                  std::filesystem::path folder,
                  catalog& ledger,
                  fail_stop& stop);

    std::uint64_t next_number() noexcept;

    // Commits the row, makes the file and syncs its directory. The number comes from next_number(),
    // and whoever took it ends it with seal(), also when this fails or is cancelled:
    // unfinished_segment does. size_bytes is preallocated; 0: nothing is. errc::no_space, for puts
    // also when spare_space() has less.
    awaitable<result<std::shared_ptr<file>>> make(open_segment opened,
                                                  std::uint64_t size_bytes,
                                                  intake_for what);

    // In the background: the file, if given, is cut at the end that the catalog knows, then the row
    // is sealed. What lies behind that end was refused. When cutting fails the row stays unsealed,
    // and the next boot's recovery ends the segment: a sealed one is what its row says (SAFETY.md
    // R2.2).
    void seal(std::uint64_t segment, std::shared_ptr<file> in = {});
    // The same at an end that is known, now. The cut is durable before the row says sealed: a power
    // cut must not bring the rest of a sealed segment back.
    awaitable<result<void>> cut_and_seal(std::shared_ptr<file> in,
                                         std::uint64_t end_bytes,
                                         seal_segment sealed);
    // Only the row, for a segment whose file is gone.
    awaitable<result<void>> seal_row(seal_segment sealed) { return commit(std::move(sealed)); }
    // In the background, for what needs no row. Without the memory to start it the process ends:
    // close() would wait for it for ever.
    void run(std::function<awaitable<void>()> job) noexcept;

    std::filesystem::path path_of(std::uint64_t segment) const;
    awaitable<result<std::shared_ptr<file>>> open(std::uint64_t segment, open_mode mode);
    // What failed is the store's end (SAFETY.md R6).
    awaitable<result<void>> sync(std::uint64_t segment, std::shared_ptr<file> in);
    awaitable<result<void>> sync_folder();
    // Bytes that may still be taken, `besides` those. Puts leave compaction the room to empty a
    // half-dead segment: on a disk that is full of them nothing would ever come back.
    awaitable<result<std::uint64_t>> spare_space(intake_for what, std::uint64_t besides = 0);
    std::uint64_t boot() const noexcept { return ledger_.boot(); }

    // Ends background work.
    awaitable<void> close();

private:
    using folder_queue = group_commit<std::monostate, std::monostate>;

    awaitable<outcome> sync_step(std::span<folder_queue::entry> batch);
    awaitable<void> drain();
    awaitable<void> seal_now(std::uint64_t segment, std::shared_ptr<file> in);
    awaitable<result<void>> end(std::uint64_t segment, std::shared_ptr<file> in);
    awaitable<result<void>> commit(change what);

    const executor home_;
    file_system& files_;
    const std::filesystem::path folder_;
    catalog& ledger_;
    fail_stop& stop_;
    std::atomic<std::uint32_t> last_{0};
    std::atomic<std::uint64_t> promised_bytes_{0};  // found to be there, and not yet preallocated
    folder_queue folder_syncs_;
    std::atomic<std::size_t> pending_{0};  // jobs asked for and not ended
    task_scope jobs_;
};

// A segment that is being made or written. Unless it is finished, it is sealed when this goes: with
// nothing live in it, that is how it is given back.
class unfinished_segment {
public:
    explicit unfinished_segment(segment_maker& maker)
        : maker_(&maker), segment_(maker.next_number()) {}
    unfinished_segment(unfinished_segment&& other) noexcept
        : maker_(std::exchange(other.maker_, nullptr)), segment_(other.segment_) {}
    unfinished_segment& operator=(unfinished_segment&&) = delete;
    ~unfinished_segment() {
        if (maker_ != nullptr) maker_->seal(segment_);
    }

    std::uint64_t segment() const noexcept { return segment_; }

    // As segment_maker::make().
    awaitable<result<std::shared_ptr<file>>> make(std::uint64_t size_bytes,
                                                  intake_for what,
                                                  std::uint64_t replay_key = 0) {
        return maker_->make(open_segment{segment_, replay_key}, size_bytes, what);
    }

    // Its end is somebody else's business from now on.
    std::uint64_t finished() noexcept {
        maker_ = nullptr;
        return segment_;
    }

private:
    segment_maker* maker_;  // null when moved from or finished
    const std::uint64_t segment_;
};

}  // namespace cairn
