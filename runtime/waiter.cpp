#include "runtime/waiter.hpp"

#include <utility>

namespace cairn {

void waiter::resume(error_code ec) noexcept {
    home_coming_.post(std::move(home_), [handler = std::move(handler_), ec]() mutable {
        // A cancellation_slot belongs to the coroutine's executor, where this runs.
        asio::get_associated_cancellation_slot(handler).clear();
        std::move(handler)(ec);
    });
}

void wait_list::push_back(waiter& entry) noexcept {
    entry.previous_ = last_;
    entry.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &entry;
    last_ = &entry;
    ++size_;
}

void wait_list::erase(waiter& entry) noexcept {
    (entry.previous_ != nullptr ? entry.previous_->next_ : first_) = entry.next_;
    (entry.next_ != nullptr ? entry.next_->previous_ : last_) = entry.previous_;
    --size_;
}

waiter* wait_list::pop_front() noexcept {
    waiter* const entry = first_;
    if (entry != nullptr) erase(*entry);
    return entry;
}

}  // namespace cairn
