// One answer on its way to a client: its status, its fields, and what its body is.
//
// Filled in by a route and sent by the connection, which adds what belongs to the connection: Date,
// Content-Length, Connection. Made to be filled again and again without allocating.
#pragma once

#include "engines/blob_id.hpp"
#include "engines/source.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cairn {

std::string_view reason_phrase(int status) noexcept;

// What the connection adds to an answer's head.
struct head_frame {
    bool keep = true;          // what happens to the connection afterwards
    bool say_keep = false;     // HTTP/1.0: the client has to be told
    bool chunked = false;      // how a body of unknown length goes out; else the close ends it
    std::string_view lines{};  // further fields, each with its CRLF
};

class response {
public:
    // Forgets everything of the answer before.
    void start(int status);

    int status() const noexcept { return status_; }
    std::uint64_t body_bytes() const noexcept { return body_bytes_; }

    void field(std::string_view name, std::string_view value);
    void field(std::string_view name, std::uint64_t value);
    // Lines that are complete already, each with its CRLF.
    void raw_fields(std::string_view lines) { fields_ += lines; }

    // The body is one of: nothing, a text, a source that gives exactly `size_bytes`,
    // or a source that says by its end how long it was.
    void text(std::string_view content_type, std::string text);
    void stream(std::unique_ptr<source> body, std::uint64_t size_bytes);
    void stream_to_end(std::unique_ptr<source> body);
    bool is_open_ended() const noexcept { return open_ended_; }
    // HEAD of a blob: its length without its bytes.
    void length_only(std::uint64_t size_bytes) noexcept { body_bytes_ = size_bytes; }

    // After this answer the connection is closed, whatever the client wants.
    void close_connection() noexcept { closes_ = true; }
    bool closes_connection() const noexcept { return closes_; }

    const std::string& text_body() const noexcept { return text_; }
    source* stream_body() const noexcept { return stream_.get(); }
    // Lets go of what the body is made of, once it is sent.
    void release() noexcept { stream_.reset(); }

    // Writes the head as it goes out, its empty line included.
    void write_head(std::string& out, const head_frame& frame) const;

private:
    int status_ = 0;
    bool closes_ = false;
    bool open_ended_ = false;
    std::string fields_;
    std::uint64_t body_bytes_ = 0;
    std::string text_;
    std::unique_ptr<source> stream_;
};

// Whom a cache on the way may give an answer to: everybody, or only who asked for it, because
// others may have no token.
enum class audience { everybody, asker };

// ETag, Repr-Digest and the constant fields of every answer about a blob (HTTP.md section 3).
void add_blob_fields(response& answer, const blob_id& id, audience who = audience::everybody);

}  // namespace cairn
