#include "engines/postgres/call.hpp"

#include "runtime/check.hpp"

#include <utility>

namespace cairn::postgres {

awaitable<result<answers>> call::fetch() {
    const auto link = [this] {
        if (!move_on(state::started, state::awaited)) caller_.resume();  // answered
    };
    const auto withdraw = [this] { return move_on(state::awaited, state::left); };
    if (state_.load() != state::answered) co_await park(caller_, link, withdraw);
    co_return std::move(answer_);
}

void call::leave() noexcept { move_on(state::started, state::left); }

void call::answer(result<answers> with) {
    CAIRN_CHECK(!is_answered());
    answer_ = std::move(with);
    room.release();
    if (state_.exchange(state::answered) == state::awaited) caller_.resume();
}

bool call::move_on(state from, state to) noexcept {
    return state_.compare_exchange_strong(from, to);
}

}  // namespace cairn::postgres
