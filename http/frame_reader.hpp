// Reads a body of blob frames: one frame after the other, each in turn as the source of its blob.
//
// Holds one window of the body. On its body's thread; the body outlives it. An error, of the body
// or of its framing, ends the reader for good. Cancelled: as the body.
#pragma once

#include "engines/source.hpp"
#include "http/blob_frames.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cairn {

class frame_reader final : public source {
public:
    explicit frame_reader(source& body) : body_(body) {}

    // Goes on to the next frame, passing over what is left of the one before; nothing at the body's
    // end. errc::malformed when the body ends inside a frame, or announces a frame longer than
    // itself.
    awaitable<result<std::optional<blob_frame>>> next_frame();

    // Of the frame under way, as a source: its length, and its next bytes.
    std::optional<std::uint64_t> size() const override { return frame_.size_bytes(); }
    awaitable<result<buffer>> next() override;

    // The frame's bytes in one piece, before any was read by next(): for small frames.
    awaitable<result<buffer>> whole();

    // What ended the reader, and, when it was the framing, the place.
    const error_code& failure() const noexcept { return failure_; }
    const std::string& complaint() const noexcept { return complaint_; }

private:
    awaitable<result<bool>> refill();
    result<void> check_length();
    error_code fail(errc why, std::string complaint);
    std::uint64_t index() const noexcept { return frames_ - 1; }

    source& body_;
    blob_frame_decoder decoder_;
    blob_frame frame_;
    std::uint64_t frames_ = 0;  // begun
    buffer window_;             // of the body, not yet used
    error_code failure_;
    std::string complaint_;
};

}  // namespace cairn
