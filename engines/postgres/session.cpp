#include "engines/postgres/session.hpp"

#include "engines/postgres/readiness.hpp"
#include "runtime/deadline.hpp"
#include "runtime/log.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <new>
#include <string_view>
#include <utility>

namespace cairn::postgres {
namespace {

std::vector<server_place> addresses_of(const server_place& place) {
    if (place.is_socket() || !place.address.empty()) return {place};
    asio::io_context context;
    asio::ip::tcp::resolver names(context);
    boost::system::error_code ec;
    std::vector<server_place> found;
    for (const auto& each : names.resolve(place.host, place.port, ec)) {
        found.push_back({place.host, each.endpoint().address().to_string(), place.port});
    }
    return found;
}

std::vector<server_place> all_addresses(const std::vector<server_place>& places) {
    std::vector<server_place> all;
    for (const server_place& each : places) {
        for (auto& found : addresses_of(each)) all.push_back(std::move(found));
    }
    return all;
}

// PQconnectStartParams only begins: with a numeric address it does not wait for anything.
session begin(const server_url& server, const server_place& place) {
    std::vector<const char*> keys;
    std::vector<const char*> values;
    const auto set = [&](const char* key, const char* value) {
        keys.push_back(key);
        values.push_back(value);  // an empty one is as good as none
    };
    for (const auto& [key, value] : server.settings()) set(key.c_str(), value.c_str());
    set("host", place.host.c_str());
    set("hostaddr", place.address.c_str());  // empty for a Unix socket
    set("port", place.port.c_str());
    set(nullptr, nullptr);
    return session(PQconnectStartParams(keys.data(), values.data(), 0));
}

// errc::unavailable where libpq knows the reason.
awaitable<result<void>> poll_until_open(pg_conn* opening) {
    const executor home = co_await asio::this_coro::executor;
    readiness socket(home);
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
        if (PQstatus(opening) == CONNECTION_BAD) break;
        // It may be another socket after each poll, even under the same number.
        if (auto ok = socket.watch(PQsocket(opening)); !ok) co_return ok.error();
        if (next == PGRES_POLLING_READING) {
            co_await socket.readable();
        } else {
            co_await socket.writable();
        }
        next = PQconnectPoll(opening);
    }
    if (next != PGRES_POLLING_OK) co_return error_code(errc::unavailable);
    co_return result<void>();
}

awaitable<result<void>> open_pipeline(pg_conn* opening) {
    auto opened = co_await poll_until_open(opening);
    if (!opened) co_return opened.error();
    if (PQsetnonblocking(opening, 1) != 0 || PQenterPipelineMode(opening) == 0) {
        co_return error_code(errc::unavailable);
    }
    co_return opened;
}

}  // namespace

void finish::operator()(pg_conn* open) const noexcept { PQfinish(open); }

awaitable<std::vector<server_place>> resolve(blocking_pool& pool,
                                             std::vector<server_place> places) {
    auto call = [places = std::move(places)] { return all_addresses(places); };
    co_return co_await pool.run(std::move(call));
}

awaitable<attempt> connect(server_url server,
                           server_place place,
                           std::chrono::milliseconds timeout) {
    session made = begin(server, place);
    if (!made) throw std::bad_alloc();
    const deadline at = std::chrono::steady_clock::now() + timeout;
    const auto opened = co_await before(at, open_pipeline(made.get()));
    if (opened) co_return attempt(std::move(made));
    std::string why = opened.error().message();
    if (opened.error() == errc::unavailable) why = trouble_of(made.get());
    co_return attempt(fmt::format("{}: {}", place.name(), server.without_secrets(why)));
}

std::string trouble_of(const pg_conn* of) {
    const std::string_view text = PQerrorMessage(of);
    return printable(text.substr(0, text.find('\n')));
}

}  // namespace cairn::postgres
