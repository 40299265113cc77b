#include "engines/postgres/uploads.hpp"

#include "engines/postgres/stored_row.hpp"
#include "runtime/deadline.hpp"
#include "runtime/log.hpp"
#include "runtime/run_on.hpp"

#include <utility>
#include <vector>

namespace cairn::postgres {
namespace {

constexpr statement renew_uploads{
    "renew_uploads",
    "UPDATE cairn.reclaim SET not_before = cairn.now_us() + $3::bigint WHERE owner = $1::bigint"
    " AND container = ANY ($2::bigint[]) AND start = 0 AND length = 0"};

// Several tries fit into the patience.
constexpr std::chrono::seconds renew_each{15};
constexpr int boot_shift = 40;  // 10^12 uploads of each of 8 million boots

}  // namespace

uploads::uploads(database& in) : in_(in), scope_(in.commits_home()) {}

std::uint64_t uploads::next_container() noexcept {
    std::lock_guard lock(mutex_);
    return (in_.boot() << boot_shift) + ++count_;
}

void uploads::add(std::uint64_t container) {
    std::lock_guard lock(mutex_);
    living_.insert(container);
}

void uploads::remove(std::uint64_t container) {
    std::lock_guard lock(mutex_);
    living_.erase(container);
}

awaitable<void> uploads::start() { co_await run_on(in_.commits_home(), start_here()); }

awaitable<void> uploads::start_here() {
    scope_.spawn(renew_until_stopped());
    co_return;
}

awaitable<void> uploads::close() { co_await run_on(in_.commits_home(), stop_here()); }

awaitable<void> uploads::stop_here() {
    scope_.request_stop();
    co_await scope_.join();
}

awaitable<void> uploads::renew_until_stopped() {
    while (true) {
        co_await sleep_for(renew_each);
        co_await renew();
    }
}

awaitable<void> uploads::renew() {
    std::vector<std::int64_t> containers;
    {
        std::lock_guard lock(mutex_);
        for (const std::uint64_t each : living_) containers.push_back(signed_of(each));
    }
    if (containers.empty()) co_return;
    constexpr std::int64_t patience_us = std::chrono::microseconds(upload_patience).count();
    const lane::writing write = [&](segment& to) {
        parameters with;
        with.add(signed_of(in_.boot())).add(std::span<const std::int64_t>(containers));
        with.add(patience_us);
        to.add(renew_uploads, std::move(with));
    };
    auto renewed = co_await in_.commits().transact(write);
    if (!renewed) log_warn("postgres", "uploads not renewed: {}", renewed.error().message());
}

}  // namespace cairn::postgres
