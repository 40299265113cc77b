// Whether one store has what another has, by counting.
#pragma once

#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

struct blob_count {
    std::uint64_t blobs = 0;
    std::uint64_t bytes = 0;

    void add(const listed_blob& blob) noexcept {
        ++blobs;
        bytes += blob.size_bytes;
    }
    friend bool operator==(const blob_count&, const blob_count&) = default;
};

struct comparison {
    static constexpr std::size_t examples_max = 10;

    blob_count both;
    blob_count only_left;
    blob_count only_right;
    std::vector<blob_id> missing;  // the first few that are only on the left

    bool right_has_all() const noexcept { return only_left.blobs == 0; }
    bool equal() const noexcept { return right_has_all() && only_right.blobs == 0; }
};

// Merges both lists of ids; no bytes are read. What changes meanwhile is counted or not, so the
// answer is exact when nothing does. Errors: those of the lists. Cancelled: throws.
awaitable<result<comparison>> compare(store& left, store& right, std::size_t page_blobs = 10'000);

}  // namespace cairn
