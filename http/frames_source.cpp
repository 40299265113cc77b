#include "http/frames_source.hpp"

#include "http/batch_limits.hpp"
#include "runtime/side_by_side.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace cairn {
namespace {

// What is not there to be had: for the reader of a batch all the same as absent.
bool is_gone(const error_code& ec) noexcept {
    return ec == errc::quarantined || ec == errc::corrupt || ec == errc::absent ||
           ec == errc::vanished;
}

// Fills `window` from the front of the pieces.
std::size_t pack(std::deque<byte_view>& pieces, mutable_byte_view window) {
    std::size_t filled = 0;
    while (!pieces.empty() && filled < window.size()) {
        byte_view& piece = pieces.front();
        const std::size_t count = std::min(piece.size(), window.size() - filled);
        std::copy_n(piece.begin(), count, window.begin() + static_cast<std::ptrdiff_t>(filled));
        filled += count;
        piece = piece.subspan(count);
        if (piece.empty()) pieces.pop_front();
    }
    return filled;
}

}  // namespace

frames_source::frames_source(store& from, std::vector<blob_id> ids, semaphore& ahead)
    : from_(from), ids_(std::move(ids)), ahead_(ahead) {}

awaitable<result<buffer>> frames_source::next() {
    buffer window = buffer::allocate(window_bytes);
    std::size_t filled = 0;
    while (filled < window.size()) {
        if (!unsent_.empty()) {
            filled += pack(unsent_, window.mutable_view().subspan(filled));
            continue;
        }
        if (current_.rest != nullptr) {
            if (filled > 0) break;
            auto more = co_await next_of_rest();
            if (!more || !more->empty()) co_return more;
            current_.rest.reset();
        }
        if (failure_) {
            if (filled == 0) co_return failure_;
            break;
        }
        if (ready_.empty() && position_ == ids_.size()) break;
        if (ready_.empty()) co_await look_ahead();
        current_ = std::move(ready_.front());
        ready_.pop_front();
        if (current_.alone) co_await fetch(current_, true);
        begin_frame();
    }
    window.truncate(filled);
    co_return window;
}

// Fetches the next blobs side by side, so that their look-ups share what they wait for.
awaitable<void> frames_source::look_ahead() {
    const std::size_t count = std::min(batch_at_once, ids_.size() - position_);
    std::vector<fetched> found(count);
    for (fetched& each : found) each.frame.id = ids_[position_++];
    const std::function work = [this, &found](std::size_t i) { return fetch(found[i], false); };
    co_await side_by_side(count, batch_at_once, work);
    for (fetched& each : found) ready_.push_back(std::move(each));
}

// Finds a blob and reads it whole, or, when it is large or there is no memory for it, only with
// `alone`, and then its first window.
awaitable<void> frames_source::fetch(fetched& into, bool alone) {
    into.alone = false;
    const byte_range everything;
    auto found = co_await from_.get(into.frame.id, everything);
    if (!found && !is_gone(found.error())) into.failure = found.error();
    if (!found || *found == nullptr) co_return;
    const std::uint64_t size_bytes = *(*found)->size();
    if (alone) {
        auto first = co_await (*found)->next();
        if (!first && !is_gone(first.error())) into.failure = first.error();
        if (!first) co_return;
        into.rest_bytes = size_bytes - std::min<std::uint64_t>(first->size(), size_bytes);
        into.bytes.push_back(std::move(*first));
        into.rest = std::move(*found);
        into.frame.length = size_bytes;
        co_return;
    }
    auto permit = size_bytes <= small_bytes_max ? ahead_.try_acquire(size_bytes) : std::nullopt;
    into.alone = !permit;
    if (!permit) co_return;
    into.held = std::move(*permit);
    co_await read_whole(into, std::move(*found));
}

awaitable<void> frames_source::read_whole(fetched& into, std::unique_ptr<source> body) {
    std::uint64_t count = 0;
    for (;;) {
        auto window = co_await body->next();
        if (!window) {
            if (!is_gone(window.error())) into.failure = window.error();
            into.bytes.clear();
            co_return;
        }
        if (window->empty()) break;
        count += window->size();
        into.bytes.push_back(std::move(*window));
    }
    into.frame.length = count;
}

awaitable<result<buffer>> frames_source::next_of_rest() {
    auto window = co_await current_.rest->next();
    if (!window) co_return window;
    // The length is out: what follows has to be just that much.
    const bool ends = window->empty();
    if (window->size() > current_.rest_bytes || (ends && current_.rest_bytes > 0)) {
        co_return error_code(errc::corrupt);
    }
    current_.rest_bytes -= window->size();
    co_return window;
}

// What is known of the current blob goes out. Of one that failed that is its id, and nothing when
// it is the first: then the answer can still be a refusal.
void frames_source::begin_frame() {
    head_ = current_.frame.head();
    failure_ = current_.failure;
    if (failure_) {
        if (given_) unsent_.push_back(current_.frame.id.view());
        return;
    }
    given_ = true;
    unsent_.push_back(head_);
    for (const buffer& each : current_.bytes) {
        if (!each.empty()) unsent_.push_back(each.view());
    }
}

}  // namespace cairn
