#include "engines/postgres/ticket.hpp"

#include "engines/postgres/call.hpp"
#include "engines/postgres/link.hpp"
#include "runtime/check.hpp"

#include <utility>

namespace cairn::postgres {

ticket& ticket::operator=(ticket&& other) noexcept {
    if (this == &other) return *this;
    give_up();
    link_ = other.link_;
    call_ = std::move(other.call_);
    is_begun_ = other.is_begun_;
    return *this;
}

awaitable<result<answers>> ticket::answer() {
    CAIRN_CHECK(call_ != nullptr);
    if (!is_begun_) {
        call_->room = co_await link_->room_.acquire();
        is_begun_ = true;
        link_->begin(call_);
    }
    auto got = co_await call_->fetch();
    call_.reset();
    co_return got;
}

void ticket::give_up() noexcept {
    if (call_ != nullptr) call_->leave();
    call_.reset();
}

}  // namespace cairn::postgres
