#include "engines/postgres/pipeline.hpp"

#include "engines/postgres/sql_error.hpp"
#include "runtime/check.hpp"

#include <utility>

namespace cairn::postgres {

bool pipeline::has_room(std::size_t size_bytes) const noexcept {
    if (flights_.empty()) return true;
    if (flights_.size() >= limits_.unanswered_segments) return false;
    return unanswered_bytes_ + size_bytes <= limits_.unanswered_bytes;
}

const pipeline::dispatch& pipeline::send(std::shared_ptr<call> what, time_point now) {
    return take_off(std::move(what), now, false);
}

const pipeline::dispatch* pipeline::send_again(time_point now) {
    if (again_.empty() || is_broken()) return nullptr;
    auto what = std::move(again_.front());
    again_.pop_front();
    return &take_off(std::move(what), now, true);
}

const pipeline::dispatch& pipeline::take_off(std::shared_ptr<call> what,
                                             time_point now,
                                             bool is_second) {
    CAIRN_CHECK(!is_broken());
    flight& made = flights_.emplace_back();
    made.what = std::move(what);
    made.started = now;
    made.is_second = is_second;
    unanswered_bytes_ += made.segment_of().size_bytes();

    dispatch_.parses.clear();
    dispatch_.server_names.clear();
    dispatch_.what = &made.segment_of();
    for (const auto& step : made.segment_of().steps()) {
        dispatch_.server_names.push_back(name_for(made, step));
    }
    made.now.size = made.is_parsing() ? made.parsing.size() : made.segment_of().size();
    return dispatch_;
}

const char* pipeline::name_for(flight& of, const segment::step& step) {
    if (!limits_.prepare || step.what.name == nullptr) return nullptr;
    if (const char* known = prepared_.find(step.what, step.with)) return known;
    const char* added = prepared_.add(step.what, step.with);
    dispatch_.parses.push_back({added, &step});
    of.parsing.push_back(step.what.name);
    return added;
}

void pipeline::came_rows(rows answer) {
    flight* const of = front();
    if (of == nullptr || of->now.is_open || of->now.at_sync() || of->now.is_failed) {
        return break_off(errc::malformed);
    }
    of->now.is_open = true;
    // Rows that nobody waits for go at once.
    if (!of->is_parsing() && !of->what->is_left()) of->got.push_back(std::move(answer));
}

void pipeline::came_error(error_code why) {
    flight* const of = front();
    if (of == nullptr || of->now.is_open) return break_off(errc::malformed);
    bool& is_failed = of->now.at_sync() ? of->now.is_sync_failed : of->now.is_failed;
    if (std::exchange(is_failed, true)) return break_off(errc::malformed);
    of->now.is_open = true;
    if (!of->failure) of->failure = why;
    forget_parse(*of);
}

void pipeline::came_aborted() {
    flight* const of = front();
    if (of == nullptr || of->now.is_open || of->now.at_sync() || !of->now.is_failed) {
        return break_off(errc::malformed);
    }
    of->now.is_open = true;
    forget_parse(*of);
}

void pipeline::came_end() {
    flight* const of = front();
    if (of == nullptr || !of->now.is_open) return break_off(errc::malformed);
    of->now.is_open = false;
    if (!of->now.at_sync()) ++of->now.done;  // an error of the commit belongs to no statement
}

void pipeline::came_sync(time_point now) {
    flight* const of = front();
    if (of == nullptr || of->now.is_open || !of->now.at_sync()) {
        return break_off(errc::malformed);
    }
    if (of->is_parsing()) {
        of->parsing.clear();
        of->now = {.size = of->segment_of().size()};
    } else {
        end_flight(now);
    }
}

void pipeline::came_standby_warning() {
    if (flight* const of = front()) of->is_unreplicated = true;
}

void pipeline::end_flight(time_point now) {
    flight ended = std::move(flights_.front());
    flights_.pop_front();
    if (!flights_.empty()) flights_.front().started = now;
    unanswered_bytes_ -= ended.segment_of().size_bytes();

    if (is_connection_gone(ended.failure)) break_off(ended.failure);
    if (ended.is_unreplicated) break_off(errc::connection_lost);
    if (is_stale_statement(ended.failure)) forget_statements(ended.segment_of());
    if (must_send_again(ended)) {
        again_.push_back(std::move(ended.what));
    } else {
        ended.what->answer(answer_of(ended));
    }
}

bool pipeline::must_send_again(const flight& of) const noexcept {
    return limits_.prepare && is_stale_statement(of.failure) && !of.is_second &&
           !of.is_unreplicated && !of.what->is_left();
}

result<answers> pipeline::answer_of(flight& of) {
    if (of.is_unreplicated) return errc::connection_lost;
    if (of.failure) return of.failure;
    return std::move(of.got);
}

void pipeline::lost() {
    break_off(errc::connection_lost);
    const auto flights = std::exchange(flights_, {});
    const auto again = std::exchange(again_, {});
    unanswered_bytes_ = 0;
    for (const flight& each : flights) each.what->answer(errc::connection_lost);
    for (const auto& each : again) each->answer(errc::connection_lost);
}

void pipeline::break_off(error_code why) noexcept {
    if (!broken_) broken_ = why;
}

std::optional<pipeline::time_point> pipeline::expires() const noexcept {
    if (flights_.empty()) return std::nullopt;
    return flights_.front().started + limits_.segment_timeout;
}

const char* pipeline::statement_name() const noexcept {
    if (flights_.empty()) return nullptr;
    const flight& of = flights_.front();
    if (of.now.at_sync()) return "commit";
    if (of.is_parsing()) return of.parsing[of.now.done];
    return of.segment_of().steps()[of.now.done].what.name;
}

pipeline::flight* pipeline::front() noexcept {
    if (is_broken() || flights_.empty()) return nullptr;
    return &flights_.front();
}

// The server does not have it: the Parse failed, or was skipped.
void pipeline::forget_parse(const flight& of) {
    if (of.is_parsing() && !of.now.at_sync()) prepared_.forget(of.parsing[of.now.done]);
}

void pipeline::forget_statements(const segment& of) {
    for (const auto& step : of.steps()) {
        if (step.what.name != nullptr) prepared_.forget(step.what.name);
    }
}

}  // namespace cairn::postgres
