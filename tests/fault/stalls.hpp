// Stalls of a store, and whether the disk under it stood still as well.
//
// A control thread syncs a small file of its own over and over. What a caller waited for is the
// store's fault unless the control waited at the same time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

namespace cairn::test {

class stalls {
public:
    using clock = std::chrono::steady_clock;
    struct wait {
        clock::time_point began;
        clock::time_point ended;
    };

    // Syncs a file in `folder` from now on.
    explicit stalls(const std::filesystem::path& folder);
    ~stalls();

    // Any thread: a caller waited so long.
    void add(wait of_caller);

    // Waits of callers over `bound` during which the control did not wait half as long in one go.
    std::vector<wait> unexplained(clock::duration bound) const;
    clock::duration longest() const;
    clock::duration longest_of_control() const;

private:
    void sync_until_stopped();

    int file_ = -1;
    mutable std::mutex mutex_;
    std::vector<wait> of_callers_;  // those worth keeping
    std::vector<wait> of_control_;
    clock::duration longest_{};
    std::atomic<bool> stopped_{false};
    std::thread control_;
};

}  // namespace cairn::test
