// Writes one record where it has its place, window by window as the body arrives.
//
// The last window is held back until the next one comes, so that it goes out in one write with the
// trailer, and maybe with other records: that write is the caller's. One coroutine at a time. Every
// write is awaited, so when a call returns or throws nothing of this record is in the kernel's
// hands.
#pragma once

#include "engines/intake.hpp"
#include "engines/locator.hpp"
#include "io/file.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace cairn {

// A record whose body is known to its end, and what of it is still to be written.
struct record_end {
    extent stored;
    std::uint64_t offset = 0;  // of the first of these bytes, which are the rest
    std::vector<buffer> bytes;
};

class record_writer {
public:
    record_writer(std::shared_ptr<file> in, std::uint64_t segment, std::uint64_t offset)
        : in_(std::move(in)), segment_(segment), offset_(offset) {}

    const std::shared_ptr<file>& in() const noexcept { return in_; }

    awaitable<result<void>> add(buffer window);

    // Goes on elsewhere: copies what is written there, from the page cache.
    awaitable<result<void>> move_to(std::shared_ptr<file> in,
                                    std::uint64_t segment,
                                    std::uint64_t offset);

    // The body is at its end.
    record_end finish(const intake& body, std::uint64_t mark);

private:
    std::shared_ptr<file> in_;
    std::uint64_t segment_;
    std::uint64_t offset_;
    std::uint64_t written_bytes_ = 0;
    buffer held_;
};

}  // namespace cairn
