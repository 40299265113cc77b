#include "http/sender.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <utility>

namespace cairn {
namespace {

// Below this a read and a copy cost less than sendfile's second system call.
constexpr std::uint64_t sendfile_bytes_min = 16 << 10;
// As much as may be found cached and then sent without looking again (sendfile blocks on cold
// pages).
constexpr std::size_t sendfile_window_bytes = 512 << 10;
// After this much without a wait, others on the thread get their turn.
constexpr std::uint64_t turn_bytes = 4 << 20;

bool goes_by_sendfile(const file_range& range) noexcept {
    return range.size_bytes >= sendfile_bytes_min && range.in->native_handle() >= 0;
}

const buffer_source* in_memory(const response& answer) noexcept {
    return dynamic_cast<const buffer_source*>(answer.stream_body());
}

}  // namespace

bool sender::needs_prepare(const response& answer) noexcept {
    return answer.stream_body() != nullptr && in_memory(answer) == nullptr;
}

awaitable<result<void>> sender::prepare(response& answer) {
    const auto range = answer.stream_body()->file();
    if (range && goes_by_sendfile(*range)) co_return result<void>();
    auto window = co_await answer.stream_body()->next();
    if (!window) co_return window.error();
    first_ = std::move(*window);
    co_return result<void>();
}

awaitable<result<void>> sender::send(response& answer, head_frame frame, bool head_only) {
    answer.write_head(head_, frame);
    if (answer.is_open_ended()) {
        auto ended = co_await send_to_end(*answer.stream_body(), frame.chunked);
        answer.release();
        co_return ended;
    }
    const byte_view head = as_bytes(head_);
    const buffer first = std::exchange(first_, {});
    source* const body = head_only ? nullptr : answer.stream_body();
    byte_view at_once = body != nullptr ? first.view() : as_bytes(answer.text_body());
    if (head_only) at_once = {};
    if (const buffer_source* whole = in_memory(answer); whole != nullptr && !head_only) {
        at_once = whole->rest().view();
    }
    const std::uint64_t later =
        head_only || body == nullptr ? 0 : answer.body_bytes() - at_once.size();

    std::optional<file_range> range;
    if (later > 0) range = body->file();
    if (range && !goes_by_sendfile(*range)) range.reset();

    result<std::size_t> sent{std::size_t{0}};
    if (later == 0) sent = to_.try_write(head, at_once);
    if (!sent) co_return sent.error();
    const std::size_t of_head = std::min(*sent, head.size());
    if (*sent < head.size() + at_once.size()) {
        const byte_view rest_of_head = head.subspan(of_head);
        const byte_view rest_of_body = at_once.subspan(*sent - of_head);
        const bool more = later > 0;
        auto written = co_await to_.write(rest_of_head, rest_of_body, settings_.stall_time, more);
        if (!written) co_return written.error();
    }
    sent_bytes_ += head.size() + at_once.size();

    result<void> done;
    if (range) {
        done = co_await send_file(std::move(*range));
    } else if (later > 0) {
        done = co_await send_windows(*body, later);
    }
    answer.release();
    co_return done;
}

// A chunk's size goes out in one piece with what precedes it: the head, or the line break of the
// chunk before.
awaitable<result<void>> sender::send_to_end(source& body, bool chunked) {
    std::uint64_t since_turn = 0;
    buffer window = std::exchange(first_, {});
    for (;;) {
        const bool more = !window.empty();
        if (chunked) head_ += more ? fmt::format("{:x}\r\n", window.size()) : "0\r\n\r\n";
        const byte_view before = as_bytes(head_);
        auto written = co_await to_.write(before, window.view(), settings_.stall_time, more);
        if (!written) co_return written.error();
        sent_bytes_ += head_.size() + window.size();
        since_turn += window.size();
        if (!more) co_return result<void>();
        head_ = chunked ? "\r\n" : "";
        if (since_turn >= turn_bytes) {
            since_turn = 0;
            co_await asio::post(asio::use_awaitable_t<executor>());
        }
        auto next = co_await body.next();
        if (!next) co_return next.error();
        window = std::move(*next);
    }
}

awaitable<result<void>> sender::send_windows(source& body, std::uint64_t size_bytes) {
    std::uint64_t since_turn = 0;
    const byte_view no_head;
    while (size_bytes > 0) {
        const auto window = co_await body.next();
        if (!window) co_return window.error();
        if (window->empty() || window->size() > size_bytes) co_return error_code(errc::corrupt);
        size_bytes -= window->size();
        const bool more = size_bytes > 0;
        auto written = co_await to_.write(no_head, window->view(), settings_.stall_time, more);
        if (!written) co_return written.error();
        sent_bytes_ += window->size();
        since_turn += window->size();
        if (since_turn >= turn_bytes) {
            since_turn = 0;
            co_await asio::post(asio::use_awaitable_t<executor>());
        }
    }
    co_return result<void>();
}

awaitable<result<void>> sender::send_file(file_range range) {
    std::uint64_t since_turn = 0;
    while (range.size_bytes > 0) {
        const auto size = static_cast<std::size_t>(
            std::min<std::uint64_t>(range.size_bytes, sendfile_window_bytes));
        std::size_t count = 0;
        if (range.in->try_read_at(range.offset + size - 1, 1)) {
            const auto sent =
                co_await to_.send_file(*range.in, range.offset, size, settings_.stall_time);
            if (!sent) co_return sent.error();
            count = *sent;
        } else {
            count = std::min(size, window_bytes);
            auto sent = co_await send_cold(range, count);
            if (!sent) co_return sent.error();
        }
        range.offset += count;
        range.size_bytes -= count;
        sent_bytes_ += count;
        since_turn += count;
        if (since_turn >= turn_bytes) {
            since_turn = 0;
            co_await asio::post(asio::use_awaitable_t<executor>());
        }
    }
    co_return result<void>();
}

// Reads a window that is not in memory where that does not block the thread, and sends what was
// read.
awaitable<result<void>> sender::send_cold(file_range range, std::size_t size_bytes) {
    const auto window = co_await range.in->read_at(range.offset, size_bytes);
    if (!window) co_return window.error();
    if (window->size() < size_bytes) co_return error_code(errc::corrupt);
    const byte_view no_head;
    const bool more = range.size_bytes > size_bytes;
    co_return co_await to_.write(no_head, window->view(), settings_.stall_time, more);
}

}  // namespace cairn
