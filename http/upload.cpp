#include "http/upload.hpp"

#include <fmt/format.h>
#include <utility>

namespace cairn {

upload::upload(connection_pool& pool, source& body, std::optional<blob_id> claim)
    : pool_(pool), body_(body), claim_(claim) {}

awaitable<result<reply>> upload::send() {
    auto first = co_await next_window();
    if (!first) co_return first.error();
    first_ = std::move(*first);
    const auto size = body_.size();
    chunked_ = !size;
    whole_ = size && *size <= first_.size();
    expects_ = claim_ && !whole_;
    for (bool fresh = false;; fresh = true) {
        auto taken = co_await pool_.take(fresh);
        if (!taken) co_return taken.error();
        reply to;
        to.connection = std::move(taken->connection);
        auto done = co_await send_on(std::move(to));
        // Past the first window the body cannot be sent again, and its first window is let go.
        const bool repeatable = taken->used_before && (whole_ || !first_.empty());
        if (done || !repeatable || !is_stale(done.error())) co_return done;
    }
}

awaitable<result<buffer>> upload::next_window() {
    auto window = co_await body_.next();
    if (window) hash_.update(window->view());
    co_return window;
}

awaitable<result<reply>> upload::send_on(reply to) {
    const std::string head = make_head();
    const bool at_once = !expects_ && !chunked_;
    byte_view with_head;
    if (at_once) with_head = first_.view();
    auto sent = co_await to.connection->send(as_bytes(head), with_head);
    if (!sent) co_return sent.error();
    if (whole_) {
        sent_id_ = blob_id{hash_.finish()};
        co_return co_await read_final(std::move(to));
    }
    if (expects_) {
        auto leave = co_await to.connection->read_head("PUT");
        if (!leave) co_return leave.error();
        if (!leave->is_interim()) {
            to.head = std::move(*leave);
            co_return to;
        }
    }
    buffer window = std::move(first_);
    first_ = {};
    if (at_once) {
        auto next = co_await next_window();
        if (!next) co_return next.error();
        window = std::move(*next);
    }
    co_return co_await send_rest(std::move(to), std::move(window));
}

awaitable<result<reply>> upload::send_rest(reply to, buffer window) {
    error_code ec;
    // A server that refuses the body answers before its end and closes: its reply tells more than
    // the broken pipe.
    while (!window.empty() && to.connection->is_quiet()) {
        auto sent = co_await send_window(*to.connection, window);
        if (!sent) {
            ec = sent.error();
            break;
        }
        auto next = co_await next_window();
        if (!next) co_return next.error();
        window = std::move(*next);
    }
    const bool complete = window.empty();
    if (complete) sent_id_ = blob_id{hash_.finish()};
    if (complete && chunked_) {
        const byte_view nothing;
        auto sent = co_await to.connection->send(as_bytes("0\r\n\r\n"), nothing);
        if (!sent) ec = sent.error();
    }
    auto final = co_await read_final(std::move(to));
    if (!final && ec) co_return ec;
    if (final && !complete) final->connection->abandon();
    co_return final;
}

awaitable<result<reply>> upload::read_final(reply to) {
    for (;;) {
        auto got = co_await to.connection->read_head("PUT");
        if (!got) co_return got.error();
        if (got->is_interim()) continue;
        to.head = std::move(*got);
        co_return to;
    }
}

awaitable<result<void>> upload::send_window(client_connection& to, const buffer& window) {
    const byte_view nothing;
    if (!chunked_) co_return co_await to.send(nothing, window.view());
    const std::string size = fmt::format("{:x}\r\n", window.size());
    auto sent = co_await to.send(as_bytes(size), window.view());
    if (!sent) co_return sent;
    co_return co_await to.send(as_bytes("\r\n"), nothing);
}

std::string upload::make_head() const {
    std::string fields = "Content-Type: application/octet-stream\r\n";
    if (chunked_) {
        fields += "Transfer-Encoding: chunked\r\n";
    } else {
        fields += fmt::format("Content-Length: {}\r\n", *body_.size());
    }
    if (expects_) fields += "Expect: 100-continue\r\n";
    if (!claim_) return pool_.head_of("POST", "/blobs", fields);
    return pool_.head_of("PUT", "/blobs/" + claim_->hex(), fields);
}

}  // namespace cairn
