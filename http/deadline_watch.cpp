#include "http/deadline_watch.hpp"

#include "runtime/check.hpp"

#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace cairn {

// Ticks while there are entries; its timer's handler finds no owner once the watch is gone.
class deadline_watch::ticker : public std::enable_shared_from_this<ticker> {
public:
    ticker(deadline_watch& owner, executor home, std::chrono::milliseconds tick)
        : owner_(&owner), timer_(std::move(home)), tick_(tick) {}

    void start() {
        if (running_) return;
        running_ = true;
        timer_.expires_after(tick_);
        timer_.async_wait([self = shared_from_this()](error_code ec) { self->fire(ec); });
    }

    void leave_owner() {
        owner_ = nullptr;
        timer_.cancel();
    }

private:
    void fire(error_code ec) {
        running_ = false;
        if (ec || owner_ == nullptr) return;
        owner_->check();
        if (owner_->first_ != nullptr) start();
    }

    deadline_watch* owner_;
    asio::steady_timer timer_;
    const std::chrono::milliseconds tick_;
    bool running_ = false;
};

deadline_watch::deadline_watch(executor home, std::chrono::milliseconds tick)
    : ticker_(std::make_shared<ticker>(*this, std::move(home), tick)) {}

deadline_watch::~deadline_watch() {
    CAIRN_CHECK(first_ == nullptr);
    ticker_->leave_owner();
}

void deadline_watch::add(entry& one) {
    one.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &one;
    first_ = &one;
    ticker_->start();
}

void deadline_watch::remove(entry& one) noexcept {
    (one.previous_ != nullptr ? one.previous_->next_ : first_) = one.next_;
    if (one.next_ != nullptr) one.next_->previous_ = one.previous_;
}

void deadline_watch::check() {
    const deadline now = std::chrono::steady_clock::now();
    for (entry* one = first_; one != nullptr; one = one->next_) {
        if (one->due_ > now) continue;
        one->due_ = deadline::max();
        one->expire();
    }
}

deadline_watch::entry::entry(deadline_watch& watch) : watch_(watch) { watch_.add(*this); }
deadline_watch::entry::~entry() { watch_.remove(*this); }

}  // namespace cairn
