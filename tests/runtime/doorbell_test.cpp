// doorbell: rings are heard once, by whoever waits next, and none is lost to a cancellation.
#include "runtime/doorbell.hpp"

#include "runtime/task_scope.hpp"
#include "tests/support/run_coro.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <doctest/doctest.h>
#include <thread>

namespace cairn::test {
namespace {

awaitable<void> turns(int count) {
    for (int i = 0; i < count; ++i) co_await asio::post(asio::use_awaitable);
}

awaitable<void> count_rings(doorbell& bell, int& heard) {
    while (true) {
        co_await bell.wait();
        ++heard;
    }
}

awaitable<void> listen_to(doorbell& bell) {
    const executor home = co_await asio::this_coro::executor;
    int heard = 0;
    task_scope scope(home);
    scope.spawn(count_rings(bell, heard));
    co_await turns(5);
    CHECK(heard == 0);
    bell.ring();
    co_await turns(5);
    CHECK(heard == 1);
    scope.request_stop();
    co_await scope.join();
    CHECK(heard == 1);
}

awaitable<void> hear_what_was_before(doorbell& bell) {
    bell.ring();
    bell.ring();
    int heard = 0;
    const executor home = co_await asio::this_coro::executor;
    task_scope scope(home);
    scope.spawn(count_rings(bell, heard));
    co_await turns(5);
    CHECK(heard == 1);
    scope.request_stop();
    co_await scope.join();
    bell.ring();
    co_await bell.wait();
}

awaitable<void> wait_for(doorbell& bell, int times) {
    for (int i = 0; i < times; ++i) co_await bell.wait();
}

}  // namespace

TEST_CASE("doorbell: whoever waits is woken by a ring, and may be cancelled") {
    doorbell bell;
    asio::io_context context;
    run_coro(context, listen_to(bell));
}

TEST_CASE("doorbell: rings while nobody waits are one ring for the next who does") {
    doorbell bell;
    asio::io_context context;
    run_coro(context, hear_what_was_before(bell));
}

TEST_CASE("doorbell: a ring of another thread is not missed") {
    doorbell there;
    doorbell back;
    constexpr int times = 2000;
    std::thread other([&] {
        asio::io_context context;
        for (int i = 0; i < times; ++i) {
            run_coro(context, wait_for(there, 1));
            back.ring();
        }
    });
    asio::io_context context;
    for (int i = 0; i < times; ++i) {
        there.ring();
        run_coro(context, wait_for(back, 1));
    }
    other.join();
}

}  // namespace cairn::test
