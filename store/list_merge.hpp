// The live sets of two stores side by side, in id order.
//
// Holds one page of each; a blob that comes or goes meanwhile is seen or not. One coroutine at a
// time. The stores outlive it.
#pragma once

#include "store/store.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace cairn {

// Where an id is, with its size there; in neither once both lists have ended.
struct merged_blob {
    std::optional<listed_blob> left;
    std::optional<listed_blob> right;
};

class list_merge {
public:
    // Asks each store for `page_blobs` ids at a time.
    list_merge(store& left, store& right, std::size_t page_blobs)
        : left_(left, page_blobs), right_(right, page_blobs) {}

    // The next id of either, or the error of a list. Cancelled: throws, and no id is passed over.
    awaitable<result<merged_blob>> next();

    // After an error: whether the left list ended so.
    bool left_failed() const noexcept { return left_failed_; }

private:
    // One list, read ahead by a page.
    class cursor {
    public:
        cursor(store& of, std::size_t page_blobs) : of_(of), page_blobs_(page_blobs) {}

        awaitable<result<void>> fill();  // so that here() is the next blob, or nothing at the end
        const listed_blob* here() const noexcept {
            return at_ < page_.size() ? &page_[at_] : nullptr;
        }
        void advance() noexcept { ++at_; }

    private:
        store& of_;
        const std::size_t page_blobs_;
        std::vector<listed_blob> page_;
        std::size_t at_ = 0;
        std::optional<blob_id> after_;
        bool ended_ = false;
    };

    cursor left_;
    cursor right_;
    bool left_failed_ = false;
};

}  // namespace cairn
