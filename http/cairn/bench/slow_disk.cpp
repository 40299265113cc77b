#include "http/cairn/bench/slow_disk.hpp"

#include <thread>

namespace cairn::bench {

slow_disk::clock::time_point slow_disk::done_at(clock::time_point now) {
    if (delay_.count() == 0) return now;
    std::lock_guard lock(mutex_);
    if (is_next_wanted_ && now >= ends_) {
        ends_ += delay_;  // it began at once when the one before it was done
        is_next_wanted_ = false;
    }
    if (now >= ends_) return ends_ = now + delay_;
    is_next_wanted_ = true;
    return ends_ + delay_;
}

void slow_disk::flush() {
    if (delay_.count() > 0) std::this_thread::sleep_until(done_at(clock::now()));
}

slow_disk& this_disk() {
    static slow_disk disk;
    return disk;
}

}  // namespace cairn::bench
