#include "store/list_merge.hpp"

namespace cairn {

awaitable<result<merged_blob>> list_merge::next() {
    const auto left_filled = co_await left_.fill();
    left_failed_ = !left_filled;
    if (!left_filled) co_return left_filled.error();
    const auto right_filled = co_await right_.fill();
    if (!right_filled) co_return right_filled.error();

    const listed_blob* const left = left_.here();
    const listed_blob* const right = right_.here();
    merged_blob found;
    if (left != nullptr && (right == nullptr || left->id <= right->id)) found.left = *left;
    if (right != nullptr && (left == nullptr || right->id <= left->id)) found.right = *right;
    if (found.left) left_.advance();
    if (found.right) right_.advance();
    co_return found;
}

awaitable<result<void>> list_merge::cursor::fill() {
    if (here() != nullptr || ended_) co_return result<void>();
    auto page = co_await of_.list(after_, page_blobs_);
    if (!page) co_return page.error();
    page_ = std::move(*page);
    at_ = 0;
    ended_ = page_.size() < page_blobs_;
    if (!page_.empty()) after_ = page_.back().id;
    co_return result<void>();
}

}  // namespace cairn
