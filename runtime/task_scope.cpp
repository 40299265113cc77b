#include "runtime/task_scope.hpp"

#include "runtime/check.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <new>
#include <utility>

namespace cairn {

bool is_cancellation(const std::exception_ptr& failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& e) {
        return e.code() == asio::error::operation_aborted;
    } catch (...) {  // tidy: the question is only whether it is a cancellation
        return false;
    }
}

task_scope::~task_scope() {
    CAIRN_CHECK(children_.empty());
    CAIRN_CHECK(joiners_.empty());
}

void task_scope::spawn(awaitable<void> child) {
    const auto self = children_.emplace(children_.end());
    auto on_end = [this, self](std::exception_ptr failure) { ended(self, std::move(failure)); };
    try {
        asio::co_spawn(home_, std::move(child),
                       asio::bind_cancellation_slot(self->slot(), std::move(on_end)));
    } catch (const std::bad_alloc&) {
        children_.erase(self);
        throw;
    }
    if (stopping_ != asio::cancellation_type::none) self->emit(stopping_);
}

void task_scope::request_stop(asio::cancellation_type kind) {
    stopping_ = kind;
    for (auto& child : children_) child.emit(kind);
}

awaitable<void> task_scope::join() {
    waiter self;
    const auto link = [this, &self] {
        if (children_.empty()) return self.resume();
        joiners_.push_back(self);
    };
    const auto withdraw = [] { return false; };
    co_await park(self, link, withdraw);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void task_scope::ended(child_list::iterator child, std::exception_ptr failure) {
    children_.erase(child);
    if (failure && !is_cancellation(failure) && !failure_) {
        failure_ = std::move(failure);
        request_stop();
    }
    if (!children_.empty()) return;
    wait_list joiners = std::exchange(joiners_, {});
    while (waiter* joiner = joiners.pop_front()) joiner->resume();
}

}  // namespace cairn
