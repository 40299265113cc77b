#include "http/frame_reader.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace cairn {

awaitable<result<std::optional<blob_frame>>> frame_reader::next_frame() {
    while (!failure_ && decoder_.data_bytes() > 0) {
        auto dropped = co_await next();
        if (!dropped) co_return dropped.error();
    }
    for (;;) {
        if (failure_) co_return failure_;
        byte_view rest = window_.view();
        const auto begun = decoder_.eat(rest);
        window_ = window_.slice(window_.size() - rest.size(), rest.size());
        if (begun) {
            frame_ = *begun;
            ++frames_;
            auto fits = check_length();
            if (!fits) co_return fits.error();
            co_return begun;
        }
        const auto more = co_await refill();
        if (!more) co_return more.error();
        if (*more) continue;
        if (decoder_.at_boundary()) co_return std::optional<blob_frame>();
        co_return fail(errc::malformed,
                       fmt::format("entries[{}]: the body ends after {} of the {} "
                                   "bytes of its head",
                                   frames_, decoder_.head_size(), blob_frame::head_bytes));
    }
}

awaitable<result<buffer>> frame_reader::next() {
    if (failure_) co_return failure_;
    if (decoder_.data_bytes() == 0) co_return buffer();
    if (window_.empty()) {
        const auto more = co_await refill();
        if (!more) co_return more.error();
        if (!*more) {
            co_return fail(errc::malformed,
                           fmt::format("entries[{}]: the body ends {} bytes before the entry does",
                                       index(), decoder_.data_bytes()));
        }
    }
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(decoder_.data_bytes(), window_.size()));
    buffer piece = window_.slice(0, count);
    window_ = window_.slice(count, window_.size() - count);
    decoder_.moved(count);
    co_return piece;
}

awaitable<result<buffer>> frame_reader::whole() {
    buffer bytes = buffer::allocate(static_cast<std::size_t>(decoder_.data_bytes()));
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const auto piece = co_await next();
        if (!piece) co_return piece.error();
        std::memcpy(bytes.mutable_data() + filled, piece->data(), piece->size());
        filled += piece->size();
    }
    co_return bytes;
}

// False at the body's end.
awaitable<result<bool>> frame_reader::refill() {
    window_ = buffer();
    auto window = co_await body_.next();
    if (!window) {
        failure_ = window.error();
        co_return failed_bool(failure_);
    }
    window_ = std::move(*window);
    co_return !window_.empty();
}

// A lie about the length is told before the bytes are waited for.
result<void> frame_reader::check_length() {
    const auto total = body_.size();
    if (!total || frame_.size_bytes() <= *total - decoder_.offset()) return {};
    return fail(errc::malformed,
                fmt::format("entries[{}], byte {}: announces {} bytes where {} are left", index(),
                            decoder_.offset() - blob_frame::head_bytes, frame_.size_bytes(),
                            *total - decoder_.offset()));
}

error_code frame_reader::fail(errc why, std::string complaint) {
    failure_ = why;
    complaint_ = std::move(complaint);
    return failure_;
}

}  // namespace cairn
