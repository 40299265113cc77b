#include "engines/intake.hpp"

#include "runtime/check.hpp"

#include <cstring>
#include <utility>

namespace cairn {
namespace {

buffer joined(const std::deque<buffer>& windows, std::size_t size_bytes) {
    if (windows.size() == 1) return windows.front();
    buffer whole = buffer::allocate(size_bytes);
    std::size_t at = 0;
    for (const buffer& window : windows) {
        std::memcpy(whole.mutable_data() + at, window.data(), window.size());
        at += window.size();
    }
    return whole;
}

}  // namespace

intake::intake(source& body,
               std::optional<blob_id> claim,
               std::uint64_t size_max_bytes,
               intake_for what)
    : body_(body), claim_(claim), size_max_bytes_(size_max_bytes), what_(what) {}

awaitable<result<buffer>> intake::next() {
    if (!kept_.empty()) {
        buffer window = std::move(kept_.front());
        kept_.pop_front();
        co_return window;
    }
    if (ended_) co_return buffer();
    co_return co_await pull();
}

awaitable<result<std::optional<buffer>>> intake::whole_within(std::size_t limit_bytes) {
    const auto announced = size();
    if (announced && *announced > limit_bytes) co_return std::optional<buffer>();
    while (!ended_ && size_bytes_ <= limit_bytes) {
        auto window = co_await pull();
        if (!window) co_return window.error();
        if (!window->empty()) kept_.push_back(std::move(*window));
    }
    if (size_bytes_ > limit_bytes) co_return std::optional<buffer>();
    co_return std::optional<buffer>(joined(std::exchange(kept_, {}), size_bytes_));
}

awaitable<result<void>> intake::drain() {
    while (true) {
        auto window = co_await next();
        if (!window) co_return window.error();
        if (window->empty()) co_return result<void>();
    }
}

const blob_id& intake::id() const {
    CAIRN_CHECK(ended_);
    return id_;
}

const checksums& intake::sums() const {
    CAIRN_CHECK(ended_);
    return sums_;
}

awaitable<result<buffer>> intake::pull() {
    auto window = co_await body_.next();
    if (!window) co_return window.error();
    if (window->empty()) {
        if (auto good = check_end(); !good) co_return good.error();
        co_return window;
    }
    size_bytes_ += window->size();
    if (size_bytes_ > size_max_bytes_) co_return error_code(errc::too_large);
    hash_.update(window->view());
    checks_.update(window->view());
    co_return window;
}

result<void> intake::check_end() {
    const auto announced = body_.size();
    if (announced && size_bytes_ < *announced) return errc::short_body;
    if (announced && size_bytes_ > *announced) return errc::malformed;
    id_ = blob_id{hash_.finish()};
    if (claim_ && id_ != *claim_) return errc::digest_mismatch;
    sums_ = checks_.finish();
    ended_ = true;
    return {};
}

}  // namespace cairn
