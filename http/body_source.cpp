#include "http/body_source.hpp"

#include "http/grammar.hpp"

#include <algorithm>
#include <cstring>

namespace cairn {

body_source::body_source(const request_head& head,
                         stream& from,
                         receive_buffer& received,
                         semaphore& budget,
                         const http_settings& settings)
    : from_(from),
      received_(received),
      budget_(budget),
      settings_(settings),
      chunked_(head.framing() == body_framing::chunked),
      awaits_continue_(false),
      left_(head.content_length()),
      bytes_max_(settings.blob_bytes_max),
      progress_(settings.body_period, settings.body_rate_min) {
    if (head.framing() == body_framing::none || head.is_http_1_0()) return;
    const auto expectation = head.find(field_name::expect);
    awaits_continue_ = expectation && iequals(*expectation, "100-continue");
}

std::optional<std::uint64_t> body_source::size() const {
    if (chunked_) return std::nullopt;
    return left_ + count_;
}

awaitable<result<buffer>> body_source::next() {
    held_.release();
    if (awaits_continue_) {
        auto sent = co_await send_continue();
        if (!sent) co_return sent.error();
    }
    while (!finished()) {
        if (!fast_) {
            auto piece = co_await take_what_came();
            if (!piece || !piece->empty()) co_return piece;
            continue;
        }
        held_ = co_await budget_.acquire(window_size());
        buffer window = buffer::allocate(window_size());
        const auto filled = co_await fill(window.mutable_view());
        if (!filled) co_return filled.error();
        fast_ = *filled == window.size();
        if (*filled > 0) {
            // A short window does not keep the memory of a full one.
            if (*filled < window.size() / 2)
                co_return buffer::copy_of(window.view().first(*filled));
            window.truncate(*filled);
            co_return window;
        }
        held_.release();
    }
    co_return buffer();
}

// Waits without a window, and takes no more than what has come. Empty when that was framing only.
awaitable<result<buffer>> body_source::take_what_came() {
    if (received_.unread().empty()) {
        auto more = co_await await_more();
        if (!more) co_return more.error();
    }
    const std::size_t size = std::min(window_size(), received_.unread().size());
    held_ = co_await budget_.acquire(size);
    buffer piece = buffer::allocate(size);
    std::size_t filled = 0;
    if (auto taken = take_received(piece.mutable_view(), filled); !taken) co_return taken.error();
    if (count_ > bytes_max_) co_return error_code(errc::too_large);
    judge_pace(filled);
    piece.truncate(filled);
    co_return piece;
}

void body_source::judge_pace(std::size_t taken) noexcept {
    const deadline now = std::chrono::steady_clock::now();
    if (now - pace_since_ > settings_.window_time) {
        pace_since_ = now;
        pace_bytes_ = 0;
    }
    pace_bytes_ += taken;
    fast_ = pace_bytes_ >= window_bytes / 2;
}

awaitable<bool> body_source::discard(std::uint64_t limit_bytes, std::chrono::milliseconds time) {
    if (finished()) co_return true;
    if (awaits_continue_ || lost_ || (!chunked_ && left_ > limit_bytes)) co_return false;
    const deadline until = std::chrono::steady_clock::now() + time;
    std::array<std::byte, 4096> dropped;
    const std::uint64_t count_max = count_ + limit_bytes;
    while (count_ <= count_max) {
        std::size_t filled = 0;
        if (!take_received(dropped, filled)) co_return false;
        if (finished()) co_return true;
        if (filled > 0) continue;
        const auto got = co_await receive(received_.room(), until);
        if (!got || *got == 0) co_return false;
        received_.filled(*got);
    }
    co_return false;
}

void body_source::moved(std::uint64_t count) noexcept {
    count_ += count;
    if (chunked_) {
        decoder_.moved(count);
    } else {
        left_ -= count;
    }
}

std::size_t body_source::window_size() const noexcept {
    if (chunked_) return window_bytes;
    return static_cast<std::size_t>(std::min<std::uint64_t>(left_, window_bytes));
}

// Moves what is received already, through framing and data, until the window is full or nothing is
// left.
result<void> body_source::take_received(mutable_byte_view window, std::size_t& filled) {
    while (!finished()) {
        const std::string_view unread = received_.unread();
        if (unread.empty()) break;
        if (run_bytes() == 0) {
            const auto eaten = decoder_.eat(unread);
            if (!eaten) return eaten.error();
            received_.consume(*eaten);
            continue;
        }
        const std::size_t count = static_cast<std::size_t>(
            std::min<std::uint64_t>(run_bytes(), std::min(unread.size(), window.size() - filled)));
        if (count == 0) break;
        std::memcpy(window.data() + filled, unread.data(), count);
        received_.consume(count);
        moved(count);
        filled += count;
    }
    return {};
}

// Fills the window, or what of it comes within window_time.
awaitable<result<std::size_t>> body_source::fill(mutable_byte_view window) {
    std::size_t filled = 0;
    deadline until = deadline::max();
    for (;;) {
        if (auto taken = take_received(window, filled); !taken) co_return taken.error();
        if (count_ > bytes_max_) co_return error_code(errc::too_large);
        if (finished() || filled == window.size()) co_return filled;
        if (until == deadline::max()) {
            until = std::chrono::steady_clock::now() + settings_.window_time;
        }
        // Data goes straight from the socket into the window; framing has to be looked at first.
        const std::uint64_t run = run_bytes();
        mutable_byte_view room = received_.room();
        if (run > 0)
            room = window.subspan(filled, std::min<std::uint64_t>(run, window.size() - filled));
        const auto got = co_await receive(room, until);
        if (!got) co_return got.error();
        if (*got == 0) co_return filled;
        if (run > 0) {
            moved(*got);
            filled += *got;
        } else {
            received_.filled(*got);
        }
    }
}

awaitable<result<void>> body_source::await_more() {
    const auto got = co_await receive(received_.room(), deadline::max());
    if (!got) co_return got.error();
    received_.filled(*got);
    co_return result<void>();
}

// One read; 0 when nothing came until `at`.
awaitable<result<std::size_t>> body_source::receive(mutable_byte_view room, deadline at) {
    const deadline begin = std::chrono::steady_clock::now();
    const auto got = co_await from_.read_some(room, std::min(at, progress_.due(begin)));
    const std::size_t count = got ? *got : 0;
    const bool fast_enough = progress_.note(count, std::chrono::steady_clock::now() - begin);
    if (got && count == 0) {
        lost_ = true;
        co_return error_code(errc::short_body);
    }
    if (!got && got.error() != errc::timed_out) {
        lost_ = true;
        co_return got.error();
    }
    if (!fast_enough) co_return error_code(errc::timed_out);
    co_return count;
}

awaitable<result<void>> body_source::send_continue() {
    awaits_continue_ = false;
    // A client that did not wait needs no leave.
    if (!received_.unread().empty()) co_return result<void>();
    constexpr std::string_view leave = "HTTP/1.1 100 Continue\r\n\r\n";
    const byte_view nothing_more;
    co_return co_await from_.write(as_bytes(leave), nothing_more, settings_.stall_time);
}

}  // namespace cairn
