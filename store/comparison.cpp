#include "store/comparison.hpp"

#include "store/list_merge.hpp"

namespace cairn {

awaitable<result<comparison>> compare(store& left, store& right, std::size_t page_blobs) {
    comparison found;
    list_merge lists(left, right, page_blobs);
    for (;;) {
        const auto blob = co_await lists.next();
        if (!blob) co_return blob.error();
        if (blob->left && blob->right) {
            found.both.add(*blob->left);
        } else if (blob->right) {
            found.only_right.add(*blob->right);
        } else if (blob->left) {
            found.only_left.add(*blob->left);
            if (found.missing.size() < comparison::examples_max) {
                found.missing.push_back(blob->left->id);
            }
        } else {
            co_return found;
        }
    }
}

}  // namespace cairn
