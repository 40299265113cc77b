#include "engines/postgres/database.hpp"

#include "engines/postgres/sql_error.hpp"
#include "runtime/log.hpp"

#include <utility>

namespace cairn::postgres {
namespace {

// A storm of lost connections must not cut a stream short that a little patience would have saved.
constexpr int reads_max = 20;

}  // namespace

database::database(server_url server, session_needs needs)
    : server_(std::move(server)), needs_(needs) {
    needs_.own_session = server_.prepare();
}

awaitable<result<std::unique_ptr<database>>> database::open(runtime& threads,
                                                            server_url server,
                                                            session_needs needs) {
    std::unique_ptr<database> made(new database(std::move(server), needs));
    auto started = co_await made->start(threads);
    if (!started) {
        co_await made->close();
        log_error("postgres", "{}: {}", made->address(), started.error().message());
        co_return started.error();
    }
    co_return made;
}

// The boot is raised by the first reader, because a lane needs it to claim its generation.
awaitable<result<void>> database::start(runtime& threads) {
    for (std::size_t i = 0; i < server_.read_connections(); ++i) {
        const auto hello = [this](greeting& fresh) { return greet(fresh); };
        reader_homes_.push_back(threads.next().get_executor());
        readers_.push_back(co_await connect(threads, reader_homes_.back(), hello));
    }
    const std::string durability = needs_.replicated ? "replicated" : "full";
    auto opened = co_await open_schema(*readers_.front(), durability);
    if (!opened) co_return opened.error();
    record_ = std::move(*opened);
    for (std::size_t i = 0; i < server_.write_connections(); ++i) {
        const flush when = i == 0 ? flush::now : flush::later;
        lanes_.push_back(std::make_unique<lane>(record_.boot, i, when, needs_.replicated));
        lane& fresh_lane = *lanes_.back();
        const auto hello = [this, &fresh_lane](greeting& fresh) {
            return greet_lane(fresh, fresh_lane);
        };
        const executor home = threads.next().get_executor();
        if (i == 0) commits_home_ = home;
        fresh_lane.use(co_await connect(threads, home, hello));
        auto ready = co_await fresh_lane.ready();
        if (!ready) co_return ready.error();
    }
    co_return result<void>();
}

awaitable<std::unique_ptr<link>> database::connect(runtime& threads, executor home, greeter greet) {
    const link_options options;
    co_return co_await link::open(home, threads.pool(), server_, options, std::move(greet));
}

awaitable<result<void>> database::greet(greeting& fresh) {
    auto traits = co_await check_session(fresh, needs_);
    if (!traits) co_return traits.error();
    if (traits->is_weak()) weak_ = true;
    co_return result<void>();
}

awaitable<result<void>> database::greet_lane(greeting& fresh, lane& of) {
    auto good = co_await greet(fresh);
    if (!good) co_return good.error();
    co_return co_await of.claim(fresh);
}

awaitable<result<answers>> database::read(std::size_t index, segment what) {
    link& from = reader_at(index);
    for (int run = 1; run < reads_max; ++run) {
        auto answered = co_await from.run(what);
        if (answered) co_return answered;
        const error_code& why = answered.error();
        if (why != errc::connection_lost && !is_connection_gone(why)) co_return why;
    }
    co_return co_await from.run(std::move(what));
}

awaitable<void> database::close() {
    for (const auto& each : lanes_) co_await each->close();
    for (const auto& each : readers_) co_await each->close();
}

}  // namespace cairn::postgres
