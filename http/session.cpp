#include "http/session.hpp"

#include "http/grammar.hpp"
#include "http/problem.hpp"
#include "http/routes.hpp"
#include "runtime/log.hpp"

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <new>
#include <utility>

namespace cairn {
namespace {

// Requests that may be answered without a wait before others on the thread get their turn.
constexpr std::uint64_t requests_per_turn = 64;

deadline now() noexcept { return std::chrono::steady_clock::now(); }

// The problem type by which a program tells the refusals of heads apart.
std::string_view type_of(const head_refusal& refusal) noexcept {
    switch (refusal.status) {
        case 408: return "timed-out";
        case 414: return "target-too-long";
        case 431: return "head-too-large";
        case 505: return "unknown-version";
        default: return "malformed-head";
    }
}

}  // namespace

session::session(server_context& server,
                 stream::socket_type socket,
                 deadline_watch& watch,
                 std::uint64_t number)
    : server_(server),
      stream_(std::move(socket), watch),
      sender_(stream_, server.settings),
      number_(number) {}

void session::drain() {
    draining_ = true;
    if (idle_) stream_.interrupt();
}

awaitable<void> session::run() {
    fate next = fate::keep;
    while (next == fate::keep) {
        const reading got = co_await read_head();
        if (got == reading::over) co_return;
        if (got == reading::request) {
            next = co_await serve_request();
        } else {
            head_frame frame;
            frame.keep = false;
            const auto sent = co_await sender_.send(answer_, frame, false);
            next = sent ? fate::linger : fate::broken;
        }
        if (requests_ % requests_per_turn == 0) {
            co_await asio::post(asio::use_awaitable_t<executor>());
        }
    }
    if (next == fate::linger) co_await linger();
}

awaitable<session::reading> session::read_head() {
    received_.unpin();
    received_.make_way();
    head_scanner scanner;
    idle_ = true;
    deadline at = now() + server_.settings.idle_time;
    for (;;) {
        const std::string_view unread = received_.unread();
        if (idle_ && !unread.empty()) {
            idle_ = false;
            at = now() + server_.settings.head_time;
        }
        const auto size = scanner.find_end(unread);
        if (scanner.refusal()) co_return refuse_head(*scanner.refusal());
        if (size) {
            const auto refusal = head_.parse(unread.substr(0, *size));
            received_.consume(*size);
            received_.pin();
            co_return refusal ? refuse_head(*refusal) : reading::request;
        }
        if (idle_ && draining_) co_return reading::over;
        const auto got = co_await stream_.read_some(received_.room(), at);
        if (got && *got > 0) {
            received_.filled(*got);
        } else if (!got && got.error() == errc::timed_out && !idle_) {
            const head_refusal late{408, "the head of the request took too long"};
            co_return refuse_head(late);
        } else {
            co_return reading::over;
        }
    }
}

session::reading session::refuse_head(const head_refusal& refusal) {
    request_id_ = fmt::format("{}-{}", number_, ++requests_);
    make_problem(answer_, refusal.status, type_of(refusal), refusal.reason, request_id_);
    server_.metrics.count(http_method::other, refusal.status);
    log_debug("http", "req={} head refused status={}: {}", request_id_, refusal.status,
              refusal.reason);
    return reading::refused;
}

awaitable<session::fate> session::serve_request() {
    const deadline begin = now();
    request_id_ = fmt::format("{}-{}", number_, ++requests_);
    body_source body(head_, stream_, received_, server_.body_budget, server_.settings);
    exchange x{server_, head_, target_, body, answer_, request_id_};
    co_await answer_request(x);
    if (body.lost()) {
        log_debug("http", "req={} {} ended by the client after {} bytes of body", request_id_,
                  head_.method_text(), body.received_bytes());
        co_return fate::broken;
    }
    const bool head_only = head_.method() == http_method::head;
    if (sender::needs_prepare(answer_) && !head_only) {
        const auto ready = co_await sender_.prepare(answer_);
        if (!ready) x.refuse(ready.error());
    }
    // A small rest of the body is read and dropped; a large one, or one that the client would send
    // only if we asked for it, costs the connection: an unread body on a kept connection is a
    // smuggling hole.
    bool settled = body.finished();
    if (!settled) settled = co_await body.discard(unwanted_bytes_max, server_.settings.window_time);

    head_frame frame;
    frame.chunked = answer_.is_open_ended() && !head_.is_http_1_0();
    const bool has_end = !answer_.is_open_ended() || frame.chunked;
    frame.keep = settled && has_end && head_.keeps_alive() && !draining_;
    frame.say_keep = frame.keep && head_.is_http_1_0();
    frame.lines = server_.rules.cors_fields(head_);
    const auto sent = co_await sender_.send(answer_, frame, head_only);
    note(x, begin, sent ? error_code() : sent.error());
    if (!sent) co_return fate::broken;
    if (frame.keep) co_return fate::keep;
    co_return settled&& received_.unread().empty() ? fate::close : fate::linger;
}

awaitable<void> session::answer_request(exchange& x) {
    // All of them: one that we understand hides none that we do not.
    const auto expectation = head_.joined(field_name::expect);
    if (expectation && !iequals(*expectation, "100-continue") && !head_.is_http_1_0()) {
        co_return x.refuse(417, "expectation-failed", "only `100-continue` can be expected");
    }
    auto target = parse_target(head_.target());
    if (!target) {
        co_return x.refuse(400, "malformed-target", "the target is not a path of this server");
    }
    target_ = std::move(*target);
    try {
        co_await route(x);
    } catch (const std::bad_alloc&) {
        x.refuse(503, "overloaded", "out of memory");
    }
}

awaitable<void> session::linger() {
    stream_.finish_writing();
    const deadline until = now() + server_.settings.linger_time;
    std::array<std::byte, 16 << 10> dropped;
    for (;;) {
        const auto got = co_await stream_.read_some(dropped, until);
        if (!got || *got == 0) co_return;
    }
}

void session::note(const exchange& x, deadline begin, const error_code& sent) const {
    const auto took = now() - begin;
    server_.metrics.count(head_.method(), answer_.status());
    server_.metrics.duration.observe(took);
    server_.metrics.received_bytes.add(x.body.received_bytes());
    if (answer_.status() == 500) {
        log_warn("http", "req={} {} {} status={}", request_id_, head_.method_text(),
                 printable(head_.target()), answer_.status());
    } else if (sent || log_enabled(log_level::debug)) {
        log_debug("http", "req={} {} {} status={} bytes={} us={} {}", request_id_,
                  head_.method_text(), printable(head_.target()), answer_.status(),
                  answer_.body_bytes(),
                  std::chrono::duration_cast<std::chrono::microseconds>(took).count(),
                  sent ? sent.message() : std::string());
    }
}

}  // namespace cairn
