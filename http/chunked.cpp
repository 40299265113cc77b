#include "http/chunked.hpp"

#include "runtime/check.hpp"

namespace cairn {
namespace {

int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// What may stand in an extension or a trailer line: no control bytes but the tab.
bool is_text(char c) noexcept {
    const auto value = static_cast<unsigned char>(c);
    return (value >= 0x20 && value != 0x7f) || c == '\t';
}

}  // namespace

result<std::size_t> chunked_decoder::eat(std::string_view input) {
    std::size_t count = 0;
    while (count < input.size() && state_ != state::data && state_ != state::done) {
        if (state_ == state::failed || ++framing_bytes_ > framing_bytes_max ||
            !step(input[count])) {
            state_ = state::failed;
            return errc::malformed;
        }
        ++count;
    }
    return count;
}

void chunked_decoder::moved(std::uint64_t count) noexcept {
    CAIRN_CHECK(count <= data_bytes());
    left_ -= count;
    if (left_ == 0 && count > 0) state_ = state::data_cr;
}

bool chunked_decoder::step(char c) noexcept {
    switch (state_) {
        case state::size_first: state_ = state::size; return add_digit(c);
        case state::size:
            if (hex_value(c) >= 0) return add_digit(c);
            state_ = after_size(c);
            return state_ != state::failed;
        case state::extension:
            if (c == '\r') state_ = state::size_lf;
            return c == '\r' || is_text(c);
        case state::size_lf:
            framing_bytes_ = 0;
            state_ = left_ == 0 ? state::trailer_first : state::data;
            return c == '\n';
        case state::data_cr: state_ = state::data_lf; return c == '\r';
        case state::data_lf:
            framing_bytes_ = 0;
            state_ = state::size_first;
            return c == '\n';
        case state::trailer_first:
            state_ = c == '\r' ? state::last_lf : state::trailer;
            return c == '\r' || is_text(c);
        case state::trailer:
            if (c == '\r') state_ = state::trailer_lf;
            return c == '\r' || is_text(c);
        case state::trailer_lf: state_ = state::trailer_first; return c == '\n';
        case state::last_lf: state_ = state::done; return c == '\n';
        case state::data:
        case state::done:
        case state::failed: break;
    }
    return false;
}

bool chunked_decoder::add_digit(char c) noexcept {
    const int digit = hex_value(c);
    // One more hex digit must not push a set bit out at the top.
    if (digit < 0 || left_ >> 60 != 0) return false;
    left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
    return true;
}

chunked_decoder::state chunked_decoder::after_size(char c) const noexcept {
    if (c == '\r') return state::size_lf;
    // White space before the `;` is "bad" in the RFC's own words, and a place where parsers differ.
    if (c == ';') return state::extension;
    return state::failed;
}

}  // namespace cairn
