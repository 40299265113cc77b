#include "engines/postgres/lane.hpp"

#include "engines/postgres/sql_error.hpp"
#include "engines/postgres/stored_row.hpp"
#include "runtime/deadline.hpp"

#include <random>
#include <utility>

namespace cairn::postgres {
namespace {

constexpr statement begin_batch{"begin_batch",
                                "SELECT cairn.begin_batch($1::bigint, $2::bigint, $3::bigint, $4,"
                                " $5)"};
constexpr statement claim_lane{"claim_lane", "SELECT cairn.claim_lane($1::bigint, $2::bigint)"};

constexpr int runs_max = 20;

segment claim_of(std::uint64_t boot, std::uint64_t number) {
    parameters lane;
    lane.add(signed_of(boot)).add(signed_of(number));
    return segment(claim_lane, std::move(lane));
}

// Two transactions that met in a deadlock should not meet again.
std::chrono::milliseconds pause_before(int run) {
    thread_local std::minstd_rand random{std::random_device{}()};
    return std::chrono::milliseconds(1 + random() % (std::uint32_t{2} << std::min(run, 6)));
}

}  // namespace

bool is_fenced(const error_code& ec) noexcept { return ec == sql_error("CA001"); }
bool is_upload_lost(const error_code& ec) noexcept { return ec == sql_error("CA002"); }

awaitable<result<void>> lane::claim(greeting& fresh) {
    segment raise = claim_of(boot_, number_);
    auto raised = co_await fresh.run(std::move(raise));
    if (!raised) co_return raised.error();
    generation_ = raised->at(0).integer(0, 0);
    co_return result<void>();
}

awaitable<result<void>> lane::ready() {
    segment nothing(statement{nullptr, "SELECT 1"});
    auto answered = co_await link_->run(std::move(nothing));
    if (!answered) co_return answered.error();
    co_return result<void>();
}

// The connection lives, and still its generation has ended: the row was unused for so long that it
// was folded away. Unless a new connection has claimed meanwhile.
awaitable<result<void>> lane::claim_again(std::int64_t lost) {
    if (generation_ != lost) co_return result<void>();
    segment raise = claim_of(boot_, number_);
    auto raised = co_await link_->run(std::move(raise));
    if (!raised) co_return raised.error();
    generation_ = raised->at(0).integer(0, 0);
    co_return result<void>();
}

segment lane::begin() const {
    parameters fence;
    fence.add(signed_of(boot_)).add(signed_of(number_)).add(generation_.load());
    fence.add(flush_ == flush::now).add(replicated_);
    return segment(begin_batch, std::move(fence));
}

bool lane::may_run_again(const error_code& ec) noexcept {
    return is_retry_whole(ec) || is_fenced(ec) || is_connection_gone(ec) ||
           ec == errc::connection_lost;
}

ticket lane::start(const writing& write) {
    segment work = begin();
    write(work);
    return link_->start(std::move(work));
}

awaitable<result<answers>> lane::transact(writing write) {
    for (int run = 1;; ++run) {
        const std::int64_t generation = generation_;
        segment work = begin();
        write(work);
        auto done = co_await link_->run(std::move(work));
        if (done) {
            done->erase(done->begin());
            co_return done;
        }
        if (!may_run_again(done.error())) co_return done.error();
        if (run == runs_max) co_return error_code(errc::unavailable);
        if (is_fenced(done.error())) (void)co_await claim_again(generation);
        if (is_retry_whole(done.error())) co_await sleep_for(pause_before(run));
    }
}

awaitable<void> lane::close() {
    if (link_) co_await link_->close();
}

}  // namespace cairn::postgres
