// What `--sync-delay` puts behind every sync: a disk that takes so long for a flush.
//
// It serves one flush at a time, as a device does and as Linux asks it to: who comes while one is
// under way waits for its end, and the next one then serves all who wait. A flush is asked for when
// the real sync is over, so its time comes on top.
#pragma once

#include <chrono>
#include <mutex>

namespace cairn::bench {

// Any thread.
class slow_disk {
public:
    using clock = std::chrono::steady_clock;

    explicit slow_disk(std::chrono::milliseconds delay = {}) : delay_(delay) {}

    // Zero: as fast as the real one. While nothing waits.
    void set_delay(std::chrono::milliseconds delay) { delay_ = delay; }
    std::chrono::milliseconds delay() const noexcept { return delay_; }

    // When a flush that is asked for at `now` will be done.
    clock::time_point done_at(clock::time_point now);
    // Waits for one. Blocks.
    void flush();

private:
    std::mutex mutex_;
    std::chrono::milliseconds delay_;
    clock::time_point ends_{};  // of the flush that was begun last
    bool is_next_wanted_ = false;
};

// The one that all of this process writes to.
slow_disk& this_disk();

}  // namespace cairn::bench
