// The body of a multipart/byteranges answer: the frame around parts that are fetched one after
// another.
#pragma once

#include "engines/source.hpp"
#include "http/multipart.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <memory>

namespace cairn {

class multipart_source final : public source {
public:
    // The store outlives this. A part is asked for when it is due, so only one is open at a time.
    multipart_source(store& from, blob_id id, multipart_frame frame);

    std::optional<std::uint64_t> size() const override { return frame_.size_bytes(); }

    // errc::vanished when the blob is removed between two parts. Cancelled: throws, ends the
    // source.
    awaitable<result<buffer>> next() override;

private:
    store& from_;
    const blob_id id_;
    const multipart_frame frame_;
    std::size_t part_ = 0;          // the one whose bytes are due, or all when the tail is
    std::unique_ptr<source> open_;  // of that part
    bool tail_given_ = false;
};

}  // namespace cairn
