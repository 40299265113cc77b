#include "http/shard.hpp"

#include "http/problem.hpp"
#include "http/sender.hpp"
#include "runtime/log.hpp"

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <utility>

namespace cairn {
namespace {

// Counts a connection out when its coroutine ends, however it ends.
class departure {
public:
    explicit departure(server_context& server) : server_(server) {}
    departure(const departure&) = delete;
    departure& operator=(const departure&) = delete;
    ~departure() { server_.connections.fetch_sub(1, std::memory_order_relaxed); }

private:
    server_context& server_;
};

class enrolment {
public:
    enrolment(std::list<session*>& list, session& one)
        : list_(list), at_(list.insert(list.end(), &one)) {}
    enrolment(const enrolment&) = delete;
    enrolment& operator=(const enrolment&) = delete;
    ~enrolment() { list_.erase(at_); }

private:
    std::list<session*>& list_;
    std::list<session*>::iterator at_;
};

}  // namespace

shard::shard(server_context& server, loop_thread& home)
    : server_(server), home_(home.get_executor()), connections_(home_), helpers_(home_) {
    watch_.emplace(home_, server.settings.tick);
}

void shard::admit(stream::socket_type socket, std::uint64_t number, bool over_limit) {
    asio::post(home_, [this, socket = std::move(socket), number, over_limit]() mutable {
        connections_.spawn(over_limit ? turn_away(std::move(socket))
                                      : serve(std::move(socket), number));
    });
}

void shard::begin_drain() {
    asio::post(home_, [this] {
        draining_ = true;
        for (session* one : sessions_) one->drain();
    });
}

awaitable<void> shard::finish_drain(deadline until) {
    helpers_.spawn(cut_off(until));
    co_await connections_.join();
    helpers_.request_stop();
    co_await helpers_.join();
    watch_.reset();
}

awaitable<void> shard::cut_off(deadline until) {
    co_await sleep_until(until);
    if (connections_.size() > 0) {
        log_warn("http", "cutting off {} connections that did not finish", connections_.size());
    }
    connections_.request_stop();
}

// A connection that fails takes no other with it, so nothing but a cancellation leaves here.
awaitable<void> shard::serve(stream::socket_type socket, std::uint64_t number) {
    const departure counted(server_);
    std::exception_ptr failure;
    try {
        session one(server_, std::move(socket), *watch_, number);
        const enrolment listed(sessions_, one);
        if (draining_) one.drain();
        co_await one.run();
    } catch (...) {
        failure = std::current_exception();
    }
    if (!failure) co_return;
    if (is_cancellation(failure)) std::rethrow_exception(failure);
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& e) {
        log_error("http", "connection {} ended by an exception: {}", number, e.what());
    }
}

awaitable<void> shard::turn_away(stream::socket_type socket) {
    const departure counted(server_);
    server_.metrics.refused_connections.add();
    stream to(std::move(socket), *watch_);
    response answer;
    make_problem(answer, 503, "overloaded", "too many connections", "0");
    head_frame frame;
    frame.keep = false;
    sender out(to, server_.settings);
    const auto sent = co_await out.send(answer, frame, false);
    if (!sent) co_return;
    to.finish_writing();
    const deadline until = std::chrono::steady_clock::now() + server_.settings.linger_time;
    std::array<std::byte, 4096> dropped;
    for (;;) {
        const auto got = co_await to.read_some(dropped, until);
        if (!got || *got == 0) co_return;
    }
}

}  // namespace cairn
