#include "engines/postgres/link.hpp"

#include "engines/postgres/call.hpp"
#include "engines/postgres/connection.hpp"
#include "engines/postgres/session.hpp"
#include "runtime/check.hpp"
#include "runtime/deadline.hpp"
#include "runtime/log.hpp"
#include "runtime/run_on.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace cairn::postgres {
namespace {

// The server takes no message of a gigabyte or more; a part of one segment is one message.
constexpr std::size_t segment_bytes_max = (std::size_t{1} << 30) - (1 << 20);

constexpr auto never = asio::steady_timer::time_point::max();

}  // namespace

awaitable<result<answers>> greeting::run(segment what) { return fresh_.run(std::move(what)); }

link::link(
    executor home, blocking_pool& pool, server_url server, link_options options, greeter greet)
    : home_(home),
      pool_(pool),
      server_(std::move(server)),
      options_(options),
      greet_(std::move(greet)),
      room_(options.queue_segments),
      retry_(options.retry_delay_min, options.retry_delay_max),
      patience_(home, never),
      loops_(home) {
    status_.since = std::chrono::system_clock::now();
    status_.server = server_.redacted();
}

link::~link() { CAIRN_CHECK(is_closing_); }

awaitable<std::unique_ptr<link>> link::open(
    executor home, blocking_pool& pool, server_url server, link_options options, greeter greet) {
    std::unique_ptr<link> made(new link(home, pool, std::move(server), options, std::move(greet)));
    co_await run_on(home, made->start_loops());
    co_return made;
}

awaitable<void> link::start_loops() {
    patience_.expires_after(options_.outage_patience);
    loops_.spawn(listen());
    loops_.spawn(lose_patience());
    loops_.spawn(keep_up());
    co_return;
}

// --- Callers.

awaitable<result<answers>> link::run(segment what) {
    ticket started = start(std::move(what));
    co_return co_await started.answer();
}

ticket link::start(segment what) {
    const bool is_too_large = what.size_bytes() > segment_bytes_max;
    auto made = std::make_shared<call>(std::move(what));
    if (is_too_large) {
        made->answer(errc::too_large);
        return ticket(*this, std::move(made), true);
    }
    auto room = room_.try_acquire();
    if (!room) return ticket(*this, std::move(made), false);
    made->room = std::move(*room);
    begin(made);
    return ticket(*this, std::move(made), true);
}

void link::begin(const std::shared_ptr<call>& what) {
    error_code refusal;
    {
        std::lock_guard lock(mutex_);
        refusal = refusal_;
        if (!refusal) queue_.push_back(what);
    }
    if (refusal) return what->answer(refusal);
    arrivals_.ring();
}

// Closed stands above what a greeter said, and that above `unavailable`.
void link::refuse_with(error_code why) {
    std::deque<std::shared_ptr<call>> refused;
    {
        std::lock_guard lock(mutex_);
        const bool is_weaker = why == errc::unavailable && refusal_;
        if (refusal_ != errc::closed && !is_weaker) refusal_ = why;
        why = refusal_;
        refused.swap(queue_);
    }
    for (const auto& each : refused) each->answer(why);
}

std::shared_ptr<call> link::take_next(const connection& to) {
    std::vector<std::shared_ptr<call>> withdrawn;  // freed after the lock
    std::lock_guard lock(mutex_);
    while (!queue_.empty()) {
        auto& next = queue_.front();
        if (!next->is_left() && !to.has_room(next->what().size_bytes())) return nullptr;
        auto taken = std::move(next);
        queue_.pop_front();
        if (!taken->is_left()) return taken;
        withdrawn.push_back(std::move(taken));
    }
    return nullptr;
}

link_status link::status() const {
    std::lock_guard lock(mutex_);
    link_status now = status_;
    now.queued_segments = queue_.size();
    return now;
}

awaitable<void> link::close() { co_await run_on(home_, shut()); }

awaitable<void> link::shut() {
    is_closing_ = true;
    {
        std::lock_guard lock(mutex_);
        refusal_ = errc::closed;
    }
    if (up_ == nullptr) refuse_with(errc::closed);
    {
        // All places free: all that was started is answered.
        const semaphore::permit all = co_await room_.acquire(room_.total());
    }
    loops_.request_stop();
    if (up_ != nullptr) up_->close();
    co_await loops_.join();
}

// --- The loops.

awaitable<void> link::listen() {
    while (true) {
        co_await arrivals_.wait();
        pump();
    }
}

awaitable<void> link::lose_patience() {
    constexpr auto as_value = asio::as_tuple(asio::use_awaitable_t<executor>());
    while (true) {
        const auto [ec] = co_await patience_.async_wait(as_value);
        if (ec) continue;  // set anew
        refuse_with(errc::unavailable);
        patience_.expires_at(never);
    }
}

awaitable<void> link::keep_up() {
    while (!is_closing_) {
        const bool was_up = co_await serve_guarded();
        if (was_up) retry_.reset();
        if (is_closing_) co_return;
        co_await sleep_for(retry_.next());
    }
}

// What a connect throws when memory or descriptors run out is one more reason to try again later.
awaitable<bool> link::serve_guarded() {
    std::exception_ptr failure;
    try {
        co_return co_await serve_once();
    } catch (const std::exception& e) {
        failure = std::current_exception();
        if (!is_cancellation(failure)) note_trouble(e.what());
    }
    if (is_cancellation(failure)) std::rethrow_exception(failure);
    co_return false;
}

// The life of one connection; false when there was none, or none that was welcome.
awaitable<bool> link::serve_once() {
    attempt made = co_await connect_anywhere();
    if (!made) {
        note_trouble(made.trouble());
        co_return false;
    }
    const pipeline_limits limits{.unanswered_bytes = options_.unanswered_bytes,
                                 .unanswered_segments = options_.unanswered_segments,
                                 .segment_timeout = options_.segment_timeout,
                                 .prepare = server_.prepare()};
    connection fresh(home_, made.take(), limits, [this] { pump(); });
    const bool is_welcome = co_await greet(fresh);
    if (!is_welcome) co_return false;
    go_up(fresh);
    co_await fresh.ended();
    go_down(server_.without_secrets(fresh.trouble()), fresh.lost_segments());
    co_return true;
}

awaitable<attempt> link::connect_anywhere() {
    const auto places = co_await resolve(pool_, server_.places());
    std::string troubles;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::size_t index = (first_place_ + i) % places.size();
        attempt made = co_await connect(server_, places[index], options_.connect_timeout);
        if (made) {
            first_place_ = index;
            place_ = places[index].name();
            co_return made;
        }
        troubles += (troubles.empty() ? "" : "; ") + made.trouble();
    }
    if (places.empty()) troubles = "no address for " + server_.redacted();
    co_return attempt(std::move(troubles));
}

// A connection that is not welcome has ended when this returns or throws.
awaitable<bool> link::greet(connection& fresh) {
    result<void> said;
    std::exception_ptr failure;
    try {
        greeting hello(fresh);
        if (greet_) said = co_await greet_(hello);
    } catch (...) {
        failure = std::current_exception();
    }
    const bool was_open = fresh.is_open();
    if (said && !failure && was_open) co_return true;

    fresh.close();
    co_await asio::this_coro::reset_cancellation_state();
    co_await fresh.ended();
    if (failure && is_cancellation(failure)) std::rethrow_exception(failure);
    const error_code why = said ? error_code(errc::connection_lost) : said.error();
    note_trouble(place_ + ": greeting: " + why.message());
    if (was_open && why != failure::retryable) refuse_with(why);
    co_return false;
}

void link::go_up(connection& fresh) {
    up_ = &fresh;
    patience_.expires_at(never);
    is_logged_down_ = false;
    {
        std::lock_guard lock(mutex_);
        if (refusal_ != errc::closed) refusal_ = {};
        status_.connected = true;
        status_.since = std::chrono::system_clock::now();
        status_.server = place_;
        ++status_.connects;
    }
    log_info("postgres", "connected to {}", place_);
    pump();
}

void link::go_down(std::string why, std::size_t lost_segments) {
    up_ = nullptr;
    patience_.expires_after(options_.outage_patience);
    {
        std::lock_guard lock(mutex_);
        status_.connected = false;
        status_.since = std::chrono::system_clock::now();
        status_.server = server_.redacted();
        status_.unanswered_segments = 0;
        status_.unanswered_bytes = 0;
    }
    if (is_closing_) return refuse_with(errc::closed);
    note_trouble(fmt::format("lost {}, {} segments unanswered: {}", place_, lost_segments, why));
}

void link::note_trouble(std::string why) {
    if (!std::exchange(is_logged_down_, true)) log_warn("postgres", "{}", why);
    std::lock_guard lock(mutex_);
    status_.last_error = std::move(why);
}

// Sends what has room, in order.
void link::pump() {
    if (up_ == nullptr) return;
    while (auto next = take_next(*up_)) up_->send(std::move(next));
    up_->flush();
    std::lock_guard lock(mutex_);
    status_.unanswered_segments = up_->unanswered_segments();
    status_.unanswered_bytes = up_->unanswered_bytes();
}

}  // namespace cairn::postgres
