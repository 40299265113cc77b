#include "http/multipart_source.hpp"

#include <utility>

namespace cairn {

multipart_source::multipart_source(store& from, blob_id id, multipart_frame frame)
    : from_(from), id_(id), frame_(std::move(frame)) {}

awaitable<result<buffer>> multipart_source::next() {
    if (open_ != nullptr) {
        auto window = co_await open_->next();
        if (!window || !window->empty()) co_return window;
        open_.reset();
        ++part_;
    }
    if (part_ == frame_.parts().size()) {
        if (std::exchange(tail_given_, true)) co_return buffer();
        co_return buffer::copy_of(as_bytes(frame_.tail()));
    }
    auto opened = co_await from_.get(id_, frame_.parts()[part_]);
    if (!opened) co_return opened.error();
    if (*opened == nullptr) co_return error_code(errc::vanished);
    open_ = std::move(*opened);
    co_return buffer::copy_of(as_bytes(frame_.head(part_)));
}

}  // namespace cairn
