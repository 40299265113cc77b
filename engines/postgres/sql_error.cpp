#include "engines/postgres/sql_error.hpp"

#include <algorithm>
#include <initializer_list>

namespace cairn::postgres {
namespace {

constexpr std::size_t state_size = 5;
constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view internal_error = "XX000";

// 36^5 is about 60 million; -1 for what is no SQLSTATE.
constexpr int packed(std::string_view state) noexcept {
    if (state.size() != state_size) return -1;
    int value = 0;
    for (const char c : state) {
        const auto digit = digits.find(c);
        if (digit == digits.npos) return -1;
        value = value * 36 + static_cast<int>(digit);
    }
    return value;
}

std::string unpacked(int value) {
    std::string state(state_size, '0');
    for (auto at = state.rbegin(); at != state.rend(); ++at, value /= 36) {
        *at = digits[static_cast<std::size_t>(value % 36)];
    }
    return state;
}

constexpr bool is_one_of(int value, std::initializer_list<std::string_view> states) noexcept {
    return std::any_of(states.begin(), states.end(),
                       [value](std::string_view each) { return packed(each) == value; });
}

constexpr bool is_in_class(int value, std::string_view two) noexcept {
    return value / (36 * 36 * 36) ==
           static_cast<int>(digits.find(two[0]) * 36 + digits.find(two[1]));
}

bool retry_whole(int value) noexcept { return is_one_of(value, {"40001", "40P01"}); }

bool connection_gone(int value) noexcept {
    return is_in_class(value, "08") ||
           is_one_of(value, {"57P01", "57P02", "57P03", "57P04", "57P05", "25006"});
}

// 53300: no room for another connection. 55P03: a lock did not come in time. 57014: the statement
// took too long, or somebody cancelled it. 53200: it is out of memory. CA003: there is no standby
// that a commit would wait for.
bool passing(int value) noexcept {
    return is_one_of(value, {"53200", "53300", "55P03", "57014", "CA003"});
}

class postgres_category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "postgres"; }
    std::string message(int value) const override { return "SQLSTATE " + unpacked(value); }

    boost::system::error_condition default_error_condition(int value) const noexcept override {
        if (retry_whole(value) || connection_gone(value) || passing(value)) {
            return make_error_condition(failure::retryable);
        }
        return boost::system::error_condition(value, *this);
    }
};

bool is_ours(const error_code& ec) noexcept { return ec.category() == category(); }

}  // namespace

const boost::system::error_category& category() noexcept {
    static const postgres_category instance;
    return instance;
}

error_code sql_error(std::string_view sqlstate) noexcept {
    if (sqlstate == "53100") return errc::no_space;
    const int value = packed(sqlstate);
    return error_code(value < 0 ? packed(internal_error) : value, category());
}

std::string sqlstate_of(const error_code& ec) {
    return is_ours(ec) ? unpacked(ec.value()) : std::string();
}

bool is_retry_whole(const error_code& ec) noexcept {
    return is_ours(ec) && retry_whole(ec.value());
}

bool is_connection_gone(const error_code& ec) noexcept {
    return is_ours(ec) && connection_gone(ec.value());
}

bool is_of_the_data(const error_code& ec) noexcept {
    if (ec == failure::retryable) return false;
    return is_ours(ec) || ec == errc::no_space || ec == errc::too_large;
}

bool is_damage(const error_code& ec) noexcept {
    return is_ours(ec) && is_one_of(ec.value(), {"XX001", "XX002", "42704"});
}

bool is_too_many_connections(const error_code& ec) noexcept { return ec == sql_error("53300"); }

bool is_stale_statement(const error_code& ec) noexcept {
    return is_ours(ec) && is_one_of(ec.value(), {"26000", "0A000"});
}

}  // namespace cairn::postgres
