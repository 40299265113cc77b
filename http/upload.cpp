#include "http/upload.hpp"

#include <fmt/format.h>
#include <utility>

namespace cairn {

upload::upload(connection_pool& pool, source& body, std::optional<blob_id> claim)
    : pool_(pool), body_(body), claim_(claim) {}

awaitable<result<reply>> upload::send() {
    for (int i = 0; i < 2; ++i) {
        auto moved = co_await advance();
        if (!moved) co_return moved.error();
    }
    whole_ = ahead_.empty();
    if (whole_) sent_id_ = blob_id{hash_.finish()};
    chunked_ = !whole_ && !body_.size();
    for (bool fresh = false;; fresh = true) {
        auto taken = co_await pool_.take(fresh);
        if (!taken) co_return taken.error();
        reply to;
        to.connection = std::move(taken->connection);
        auto done = co_await attempt(std::move(to));
        if (done || begun_ || !taken->used_before || !is_stale(done.error())) co_return done;
    }
}

// Moves one window on.
awaitable<result<void>> upload::advance() {
    window_ = std::exchange(ahead_, {});
    auto next = co_await body_.next();
    if (!next) co_return next.error();
    hash_.update(next->view());
    ahead_ = std::move(*next);
    co_return result<void>();
}

awaitable<result<reply>> upload::attempt(reply to) {
    const std::string head = make_head();
    byte_view with_head;
    if (whole_) with_head = window_.view();
    auto sent = co_await to.connection->send(as_bytes(head), with_head);
    if (!sent) co_return sent.error();
    if (whole_) co_return co_await read_final(std::move(to));
    if (claim_) {
        const auto begun =
            co_await to.connection->await_reply(to.connection->settings().leave_time);
        if (!begun) co_return begun.error();
        if (*begun > 0) {
            auto leave = co_await to.connection->read_head("PUT");
            if (!leave) co_return leave.error();
            to.head = std::move(*leave);
            if (!to.head.is_interim()) co_return to;
        }
    }
    begun_ = true;
    co_return co_await send_rest(std::move(to));
}

awaitable<result<reply>> upload::send_rest(reply to) {
    error_code ec;
    // A server that refuses the body answers before its end and closes: its reply tells more than
    // the broken pipe.
    while (!window_.empty() && to.connection->is_quiet()) {
        auto sent = co_await send_window(*to.connection);
        if (!sent) {
            ec = sent.error();
            break;
        }
        auto moved = co_await advance();
        if (!moved) co_return moved.error();
    }
    const bool complete = window_.empty();
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

awaitable<result<void>> upload::send_window(client_connection& to) {
    const byte_view nothing;
    if (!chunked_) co_return co_await to.send(nothing, window_.view());
    const std::string size = fmt::format("{:x}\r\n", window_.size());
    auto sent = co_await to.send(as_bytes(size), window_.view());
    if (!sent) co_return sent;
    co_return co_await to.send(as_bytes("\r\n"), nothing);
}

std::string upload::make_head() const {
    std::string fields = "Content-Type: application/octet-stream\r\n";
    if (chunked_) {
        fields += "Transfer-Encoding: chunked\r\n";
    } else {
        fields += fmt::format("Content-Length: {}\r\n", whole_ ? window_.size() : *body_.size());
    }
    if (claim_ && !whole_) fields += "Expect: 100-continue\r\n";
    if (!claim_) return pool_.head_of("POST", "/blobs", fields);
    return pool_.head_of("PUT", "/blobs/" + claim_->hex(), fields);
}

}  // namespace cairn
