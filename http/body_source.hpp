// The body of the request under way, as a source: of known length or chunked, window by window from
// the socket.
//
// Lives as long as its request, on the connection's thread. Answers `Expect: 100-continue` at the
// first next(), so whoever refuses a request before it asks for the body has spared the client
// sending it. After an error the connection can only be closed. Cancelled: throws, and the
// connection is lost.
#pragma once

#include "engines/source.hpp"
#include "http/chunked.hpp"
#include "http/head.hpp"
#include "http/progress_meter.hpp"
#include "http/receive_buffer.hpp"
#include "http/settings.hpp"
#include "http/stream.hpp"
#include "runtime/semaphore.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cairn {

class body_source final : public source {
public:
    // Everything outlives the request. `budget` is what windows are taken from, in bytes.
    body_source(const request_head& head,
                stream& from,
                receive_buffer& received,
                semaphore& budget,
                const http_settings& settings);

    std::optional<std::uint64_t> size() const override;

    // For bodies that are not one blob: their limit, instead of blob_bytes_max. Before next().
    void limit_to(std::uint64_t bytes_max) noexcept { bytes_max_ = bytes_max; }

    // errc::short_body when the client ends early, errc::malformed for bad framing, errc::too_large
    // over the limit, errc::timed_out when it comes too slowly, or the socket's error.
    awaitable<result<buffer>> next() override;

    // Drops up to `limit_bytes`, for at most `time`; true when that was all of it.
    awaitable<bool> discard(std::uint64_t limit_bytes, std::chrono::milliseconds time);

    // Read to its end: the connection can be used again.
    bool finished() const noexcept { return chunked_ ? decoder_.done() : left_ == 0; }
    // The client still waits for leave to send it.
    bool awaits_continue() const noexcept { return awaits_continue_; }
    // The client is gone or unreadable: no answer would reach it.
    bool lost() const noexcept { return lost_; }
    std::uint64_t received_bytes() const noexcept { return count_; }

private:
    std::uint64_t run_bytes() const noexcept { return chunked_ ? decoder_.data_bytes() : left_; }
    void moved(std::uint64_t count) noexcept;

    std::size_t window_size() const noexcept;
    awaitable<result<buffer>> take_what_came();
    void judge_pace(std::size_t taken) noexcept;
    result<void> take_received(mutable_byte_view window, std::size_t& filled);
    awaitable<result<std::size_t>> fill(mutable_byte_view window);
    awaitable<result<void>> await_more();
    awaitable<result<std::size_t>> receive(mutable_byte_view room, deadline at);
    awaitable<result<void>> send_continue();

    stream& from_;
    receive_buffer& received_;
    semaphore& budget_;
    const http_settings& settings_;
    const bool chunked_;
    bool awaits_continue_;
    bool lost_ = false;
    std::uint64_t left_;  // of a body of known length
    std::uint64_t count_ = 0;
    std::uint64_t bytes_max_;
    chunked_decoder decoder_;
    progress_meter progress_;
    // Half a window came within window_time. Only such a sender has a window to fill; for all
    // others it would stand empty while the next byte is waited for.
    bool fast_ = false;
    deadline pace_since_;
    std::size_t pace_bytes_ = 0;
    semaphore::permit held_;  // for the window that next() gave last
};

}  // namespace cairn
