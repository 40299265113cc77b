// Lets reader threads through until the writer needs them out: a restart checkpoint can only reset
// the write-ahead log while no reader stands in it, and readers that overlap would never all be
// out.
//
// Blocking, for the dedicated threads of one catalog. Readers pass between batches, never inside
// one.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace cairn::sqlite {

class gate {
public:
    // While one lives, a reader is inside; waits for an open gate.
    class pass {
    public:
        explicit pass(gate& through) : gate_(through) { gate_.enter(); }
        ~pass() { gate_.leave(); }
        pass(const pass&) = delete;
        pass& operator=(const pass&) = delete;

    private:
        gate& gate_;
    };

    // While one lives, nobody is inside; waits until those who are have left.
    class closed {
    public:
        explicit closed(gate& shut) : gate_(shut) { gate_.shut(); }
        ~closed() { gate_.open(); }
        closed(const closed&) = delete;
        closed& operator=(const closed&) = delete;

    private:
        gate& gate_;
    };

private:
    void enter() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !shut_; });
        ++inside_;
    }
    void leave() {
        std::lock_guard lock(mutex_);
        if (--inside_ == 0) changed_.notify_all();
    }
    void shut() {
        std::unique_lock lock(mutex_);
        shut_ = true;
        changed_.wait(lock, [this] { return inside_ == 0; });
    }
    void open() {
        std::lock_guard lock(mutex_);
        shut_ = false;
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool shut_ = false;
    std::size_t inside_ = 0;
};

}  // namespace cairn::sqlite
