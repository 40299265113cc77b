// The head of a request: found in the bytes received, parsed, and judged more strictly than its
// parser does.
//
// Beast parses; what it lets pass is refused here (RELIABILITY: a body framed in two ways is how
// requests are smuggled): Transfer-Encoding other than exactly one `chunked`, together with
// Content-Length or on HTTP/1.0, a repeated Content-Length, a repeated or missing Host, folded
// lines, bare line feeds. Whoever gets a refusal answers it and closes the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

inline constexpr std::size_t head_bytes_max = 16 << 10;
inline constexpr std::size_t target_bytes_max = 8 << 10;
inline constexpr std::size_t head_fields_max = 100;

struct head_refusal {
    int status = 400;
    std::string_view reason;  // a literal
};

// Finds the end of a head in bytes that arrive in pieces, and refuses at the first byte that no
// head may hold, so that a client that never sends an empty line is answered before its time is up.
class head_scanner {
public:
    // `received` begins where the last call's did and may have grown. The head's length with its
    // empty line once it is complete; nothing when bytes are missing or refusal() says what is
    // wrong.
    std::optional<std::size_t> find_end(std::string_view received);
    const std::optional<head_refusal>& refusal() const noexcept { return refusal_; }

private:
    bool accept_line(std::string_view line);
    std::optional<std::size_t> refuse(int status, std::string_view reason);

    std::size_t line_begin_ = 0;
    std::size_t searched_ = 0;
    std::size_t lines_ = 0;
    std::optional<head_refusal> refusal_;
};

enum class http_method { get, head, put, post, del, options, other };

// The fields that cairn looks at.
enum class field_name : std::uint8_t {
    other,
    accept,
    authorization,
    connection,
    content_digest,
    content_encoding,
    content_length,
    content_range,
    content_type,
    expect,
    host,
    if_match,
    if_none_match,
    if_range,
    origin,
    range,
    repr_digest,
    transfer_encoding,
    want_digest,
};

struct header_field {
    field_name name = field_name::other;
    std::string_view value;  // trimmed
};

enum class body_framing { none, length, chunked };

// One parsed head, made to be parsed into again and again. Views point into the bytes that were
// parsed.
class request_head {
public:
    // `head` is what head_scanner found complete. After a refusal nothing else here counts.
    std::optional<head_refusal> parse(std::string_view head);

    http_method method() const noexcept { return method_; }
    std::string_view method_text() const noexcept { return method_text_; }
    std::string_view target() const noexcept { return target_; }
    bool is_http_1_0() const noexcept { return version_ == 10; }
    // Whether the client wants to keep the connection.
    bool keeps_alive() const noexcept;

    body_framing framing() const noexcept { return framing_; }
    std::uint64_t content_length() const noexcept { return content_length_; }

    // The first field of that name.
    std::optional<std::string_view> find(field_name name) const noexcept;
    std::size_t count(field_name name) const noexcept;
    // All fields of that name, joined by commas: for fields that are lists.
    std::optional<std::string> joined(field_name name) const;

private:
    friend class request_parser;

    std::optional<head_refusal> judge();
    std::optional<head_refusal> judge_framing();

    http_method method_ = http_method::other;
    std::string_view method_text_;
    std::string_view target_;
    unsigned version_ = 0;
    body_framing framing_ = body_framing::none;
    std::uint64_t content_length_ = 0;
    std::vector<header_field> fields_;
};

}  // namespace cairn
