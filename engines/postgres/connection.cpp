#include "engines/postgres/connection.hpp"

#include "engines/postgres/sql_error.hpp"
#include "runtime/check.hpp"
#include "runtime/log.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <openssl/ssl.h>
#include <string_view>
#include <utility>

namespace cairn::postgres {
namespace {

using clock = std::chrono::steady_clock;

constexpr int binary = 1;

// The server's function that waits for standbys warns when it was made to stop waiting; its text
// is translated, its name is not.
constexpr std::string_view standby_wait = "SyncRepWaitForLSN";

std::string_view field(const PGresult* of, int which) noexcept {
    const char* const text = PQresultErrorField(of, which);
    return text == nullptr ? std::string_view() : text;
}

// Bytes that TLS has read from the socket and libpq has not: the socket will not say so.
bool has_hidden_input(PGconn* session) noexcept {
    auto* const tls = static_cast<SSL*>(PQsslStruct(session, "OpenSSL"));
    return tls != nullptr && SSL_pending(tls) > 0;
}

}  // namespace

class connection::ending {
public:
    explicit ending(connection& of) : of_(of) {}
    ~ending() { of_.end("gave up"); }
    ending(const ending&) = delete;
    ending& operator=(const ending&) = delete;

private:
    connection& of_;
};

connection::connection(executor home,
                       session open,
                       pipeline_limits limits,
                       std::function<void()> on_answers)
    : session_(std::move(open)),
      socket_(home),
      machine_(limits),
      on_answers_(std::move(on_answers)),
      segment_timeout_(limits.segment_timeout),
      silence_(home),
      loops_(home) {
    PQsetNoticeReceiver(session_.get(), &connection::take_notice, this);
    if (auto ok = socket_.watch(PQsocket(session_.get())); !ok) end(ok.error().message());
    loops_.spawn(read());
    loops_.spawn(write());
    loops_.spawn(watch());
}

connection::~connection() { CAIRN_CHECK(!is_open_); }

bool connection::has_room(std::size_t size_bytes) const noexcept {
    return is_open_ && machine_.has_room(size_bytes);
}

void connection::send(std::shared_ptr<call> what) {
    if (!is_open_) return what->answer(errc::unavailable);
    put_or_end(machine_.send(std::move(what), clock::now()));
}

void connection::flush() {
    if (!is_open_) return;
    const int left = PQflush(session_.get());
    if (left < 0) return end(trouble_of(session_.get()));
    if (left > 0) must_flush_.ring();
}

awaitable<result<answers>> connection::run(segment what) {
    const auto made = std::make_shared<call>(std::move(what));
    send(made);
    flush();
    co_return co_await made->fetch();
}

awaitable<void> connection::ended() {
    co_await loops_.join();
    session_.reset();
}

// --- Reading.

awaitable<void> connection::read() {
    const ending at_the_end(*this);
    while (is_open_) {
        const bool is_ready = co_await socket_.readable();
        if (!is_ready) co_return;
        if (!receive()) co_return end(trouble_of(session_.get()));
        take_results();
        send_again();
        on_answers_();
    }
}

bool connection::receive() {
    do {
        if (PQconsumeInput(session_.get()) == 0) return false;
    } while (has_hidden_input(session_.get()));
    return PQstatus(session_.get()) == CONNECTION_OK;
}

// PQgetResult would block while PQisBusy; asked for more than the machine waits for, it answers
// nothing for ever; and of a session that was lost in a write it makes answers up (libpq 15 forgets
// what was asked, and still reads what came).
void connection::take_results() {
    while (is_open_ && machine_.is_waiting() && PQisBusy(session_.get()) == 0) {
        if (PQstatus(session_.get()) != CONNECTION_OK) return end(trouble_of(session_.get()));
        take(PQgetResult(session_.get()));
        if (machine_.is_broken()) return end_broken();
    }
}

void connection::take(pg_result* result) {
    if (result == nullptr) return machine_.came_end();
    rows answer(result);
    switch (PQresultStatus(result)) {
        case PGRES_TUPLES_OK:
        case PGRES_COMMAND_OK:
        case PGRES_EMPTY_QUERY: return machine_.came_rows(std::move(answer));
        case PGRES_PIPELINE_ABORTED: return machine_.came_aborted();
        case PGRES_PIPELINE_SYNC: return machine_.came_sync(clock::now());
        case PGRES_FATAL_ERROR: return take_error(result);
        default: return end("an answer that nobody asked for");  // COPY
    }
}

// Once libpq has lost the connection, an error is no answer but the news of that.
void connection::take_error(const pg_result* result) {
    if (PQstatus(session_.get()) != CONNECTION_OK) return end(trouble_of(session_.get()));
    const error_code why = sql_error(field(result, PG_DIAG_SQLSTATE));
    if (!note_farewell(result)) log_error(why, result);
    machine_.came_error(why);
}

// The one place that sees the server's text. Who retries, or raised the error on purpose (class
// CA), is not worth a line.
void connection::log_error(const error_code& why, const pg_result* result) const {
    const std::string_view state = field(result, PG_DIAG_SQLSTATE);
    const bool is_expected = is_retry_whole(why) || state.starts_with("CA");
    const auto level = is_expected ? log_level::debug : log_level::warn;
    if (!log_enabled(level)) return;
    const char* const name = machine_.statement_name();
    const std::string_view constraint = field(result, PG_DIAG_CONSTRAINT_NAME);
    write_log(level, "postgres",
              fmt::format("{} on {}: {}{}{}", state, name == nullptr ? "unnamed statement" : name,
                          printable(field(result, PG_DIAG_MESSAGE_PRIMARY)),
                          constraint.empty() ? "" : ", constraint ", printable(constraint)));
}

// What the server says last, as an error of the statement that it runs or by itself.
bool connection::note_farewell(const pg_result* said) {
    const std::string_view severity = field(said, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity != "FATAL" && severity != "PANIC") return false;
    farewell_ = printable(field(said, PG_DIAG_MESSAGE_PRIMARY));
    return true;
}

void connection::take_notice(void* self, const pg_result* notice) {
    auto& on = *static_cast<connection*>(self);
    if (on.note_farewell(notice)) return;
    if (field(notice, PG_DIAG_SOURCE_FUNCTION) == standby_wait) on.machine_.came_standby_warning();
    log_debug("postgres", "notice: {}", printable(field(notice, PG_DIAG_MESSAGE_PRIMARY)));
}

void connection::send_again() {
    while (is_open_) {
        const auto* const what = machine_.send_again(clock::now());
        if (what == nullptr) break;
        put_or_end(*what);
    }
    flush();
}

// --- Writing.

awaitable<void> connection::write() {
    const ending at_the_end(*this);
    while (is_open_) {
        co_await must_flush_.wait();
        co_await socket_.writable();
        flush();
    }
}

void connection::put_or_end(const pipeline::dispatch& what) {
    if (!put(what)) end(trouble_of(session_.get()));
}

bool connection::put(const pipeline::dispatch& what) {
    for (const auto& each : what.parses) {
        if (!put_parse(each)) return false;
    }
    if (!what.parses.empty() && PQpipelineSync(session_.get()) == 0) return false;
    for (std::size_t i = 0; i < what.server_names.size(); ++i) {
        if (!put_step(what.what->steps()[i], what.server_names[i])) return false;
    }
    return PQpipelineSync(session_.get()) == 1;
}

bool connection::put_parse(const pipeline::dispatch::parse& what) {
    wire_.set(what.step->with);
    return PQsendPrepare(session_.get(), what.server_name, what.step->what.sql, wire_.size,
                         wire_.types.data()) == 1;
}

bool connection::put_step(const segment::step& what, const char* server_name) {
    wire_.set(what.with);
    if (server_name != nullptr) {
        return PQsendQueryPrepared(session_.get(), server_name, wire_.size, wire_.values.data(),
                                   wire_.lengths.data(), wire_.formats.data(), binary) == 1;
    }
    return PQsendQueryParams(session_.get(), what.what.sql, wire_.size, wire_.types.data(),
                             wire_.values.data(), wire_.lengths.data(), wire_.formats.data(),
                             binary) == 1;
}

void connection::wire::set(const parameters& with) {
    size = static_cast<int>(with.size());
    types.clear();
    values.clear();
    lengths.clear();
    formats.assign(with.size(), binary);
    for (std::size_t i = 0; i < with.size(); ++i) {
        const byte_view bytes = with.bytes(i);
        // To libpq a null pointer is NULL, and an empty value is a value.
        const char* const data = bytes.empty() ? "" : as_text(bytes).data();
        types.push_back(with.type(i));
        values.push_back(with.is_null(i) ? nullptr : data);
        lengths.push_back(static_cast<int>(bytes.size()));
    }
}

// --- The end.

awaitable<void> connection::watch() {
    constexpr auto as_value = asio::as_tuple(asio::use_awaitable_t<executor>());
    const ending at_the_end(*this);
    while (is_open_) {
        const auto now = clock::now();
        const auto expires = machine_.expires().value_or(now + segment_timeout_);
        if (expires <= now) co_return end("the server is silent");
        silence_.expires_at(expires);
        co_await silence_.async_wait(as_value);
    }
}

void connection::end_broken() {
    const error_code why = machine_.broken();
    end(why == errc::malformed ? "the server broke the protocol" : why.message());
}

// Nothing is freed here: the callers of this go on in libpq's memory.
void connection::end(std::string why) {
    if (!std::exchange(is_open_, false)) return;
    trouble_ = farewell_.empty() ? std::move(why) : farewell_;
    lost_segments_ = machine_.unanswered_segments();
    machine_.lost();
    socket_.release();
    silence_.cancel();
    must_flush_.ring();
}

}  // namespace cairn::postgres
