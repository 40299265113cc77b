// The framing `application/vnd.cairn.blobs`, a machine without I/O: many blobs in one body.
//
// A frame is the blob's id (32 bytes), its length (8 bytes, big-endian) and its bytes. The length
// 2^64-1 says that the blob is absent; then no bytes follow. A body is frames and nothing else, so
// one that ends inside a frame was cut short.
#pragma once

#include "engines/blob_id.hpp"
#include "runtime/bytes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cairn {

inline constexpr std::string_view blob_frames_type = "application/vnd.cairn.blobs";

// A frame without its bytes.
struct blob_frame {
    static constexpr std::size_t head_bytes = 40;
    static constexpr std::uint64_t absent_length = UINT64_MAX;

    blob_id id;
    std::uint64_t length = absent_length;

    bool absent() const noexcept { return length == absent_length; }
    std::uint64_t size_bytes() const noexcept { return absent() ? 0 : length; }
    // As it stands in front of the blob's bytes.
    std::array<std::byte, head_bytes> head() const noexcept;
};

// State: head -> data(n) -> head -> ... In `head` the machine eats bytes; in `data` the caller
// moves them, in pieces of any size, and says how many. No input is wrong but one that ends where
// at_boundary() is false.
class blob_frame_decoder {
public:
    // Takes bytes of a head from the front of `input`: the frame when that completed it, else
    // nothing and `input` is empty. Called with data_bytes() == 0 (CHECKed).
    std::optional<blob_frame> eat(byte_view& input);

    // Bytes of the current frame that the caller may move now.
    std::uint64_t data_bytes() const noexcept { return left_; }
    // The caller moved `count` of them, at most data_bytes() (CHECKed).
    void moved(std::uint64_t count);

    // Between two frames, where a body may end.
    bool at_boundary() const noexcept { return head_size_ == 0 && left_ == 0; }
    // Of the head under way.
    std::size_t head_size() const noexcept { return head_size_; }
    // Bytes eaten and moved.
    std::uint64_t offset() const noexcept { return offset_; }

private:
    std::array<std::byte, blob_frame::head_bytes> head_{};
    std::size_t head_size_ = 0;
    std::uint64_t left_ = 0;
    std::uint64_t offset_ = 0;
};

}  // namespace cairn
