// Decodes the chunked transfer coding (RFC 9112 section 7.1), strictly; a machine without I/O.
//
// State: framing -> data(n) -> framing -> ... -> done. In `framing` the machine eats bytes; in
// `data` the caller moves them, in pieces of any size, and says how many. Extensions and trailers
// are read and dropped, each size line and all trailers together within a limit, so that framing
// cannot go on for ever.
#pragma once

#include "runtime/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn {

class chunked_decoder {
public:
    // Of one size line, and of all trailers together.
    static constexpr std::size_t framing_bytes_max = 16 << 10;

    // Eats framing from the front of `input` until data begins, the body ends, or the input does.
    // The count of bytes eaten; errc::malformed ends the machine.
    result<std::size_t> eat(std::string_view input);

    // Bytes of the current chunk that the caller may move now.
    std::uint64_t data_bytes() const noexcept { return state_ == state::data ? left_ : 0; }
    // The caller moved `count` of them, at most data_bytes().
    void moved(std::uint64_t count) noexcept;

    bool done() const noexcept { return state_ == state::done; }

private:
    enum class state {
        size_first,  // the first digit of a chunk's size
        size,        // its other digits
        extension,   // from behind the size to the line's end
        size_lf,     // its line feed
        data,        // left_ bytes are the caller's
        data_cr,     // the line break behind a chunk's data
        data_lf,
        trailer_first,  // the first byte of a trailer line, or of the empty line that ends the body
        trailer,
        trailer_lf,
        last_lf,
        done,
        failed,
    };

    bool step(char c) noexcept;
    bool add_digit(char c) noexcept;
    state after_size(char c) const noexcept;

    state state_ = state::size_first;
    std::uint64_t left_ = 0;
    std::size_t framing_bytes_ = 0;  // of the current line, or of the trailers so far
};

}  // namespace cairn
