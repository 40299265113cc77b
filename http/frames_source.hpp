// The body of the answer to `POST /blobs/read`: one frame for each id, in order.
//
// Small blobs are fetched side by side and packed into windows; a large one streams by itself, and
// only one is open at a time. An error ends the stream short of a whole frame, so that whoever
// reads frames sees it: behind the id of the blob that it befell, or within that blob's bytes.
#pragma once

#include "engines/source.hpp"
#include "http/blob_frames.hpp"
#include "runtime/semaphore.hpp"
#include "store/store.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace cairn {

class frames_source final : public source {
public:
    // `ahead` bounds, in bytes, what all batches hold in memory; where it is used up, blobs stream
    // one after another. It and the store outlive this.
    frames_source(store& from, std::vector<blob_id> ids, semaphore& ahead);

    std::optional<std::uint64_t> size() const override { return std::nullopt; }

    // The store's error: at once when it befell the first blob, else behind the unfinished frame. A
    // blob that is quarantined, or turns out bad or removed before its first byte is out, is told
    // as absent. Cancelled: throws, ends the source.
    awaitable<result<buffer>> next() override;

private:
    // What was found out about one blob.
    struct fetched {
        error_code failure;
        blob_frame frame;              // absent unless found
        std::vector<buffer> bytes;     // all of it, or its first window
        std::unique_ptr<source> rest;  // of a large one
        semaphore::permit held;        // for the bytes
        std::uint64_t rest_bytes = 0;
        bool alone = false;  // found, but not read
    };

    awaitable<void> look_ahead();
    awaitable<void> fetch(fetched& into, bool alone);
    awaitable<void> read_whole(fetched& into, std::unique_ptr<source> body);
    awaitable<result<buffer>> next_of_rest();
    void begin_frame();

    store& from_;
    const std::vector<blob_id> ids_;
    semaphore& ahead_;
    std::size_t position_ = 0;   // of the first id that was not looked at
    std::deque<fetched> ready_;  // looked at, in order
    fetched current_;            // on its way out
    std::array<std::byte, blob_frame::head_bytes> head_{};
    std::deque<byte_view> unsent_;  // of head_ and current_.bytes
    bool given_ = false;            // something is out
    error_code failure_;
};

}  // namespace cairn
