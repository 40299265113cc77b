// Writes one record where it has its place, window by window as the body arrives.
//
// The last window is held back until the next one comes, so that it goes out in one write with the
// trailer: a body of one window, the common one, is one write. One coroutine at a time. Every write
// is awaited, so when a call returns or throws nothing of this record is in the kernel's hands.
#pragma once

#include "engines/intake.hpp"
#include "engines/locator.hpp"
#include "io/file.hpp"

#include <cstdint>
#include <memory>

namespace cairn {

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

    // Writes what is left and the trailer. The body is at its end. Not synced.
    awaitable<result<extent>> finish(const intake& body, std::uint64_t mark);

private:
    std::shared_ptr<file> in_;
    std::uint64_t segment_;
    std::uint64_t offset_;
    std::uint64_t written_bytes_ = 0;
    buffer held_;
};

}  // namespace cairn
