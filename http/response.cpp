#include "http/response.hpp"

#include "http/digest_fields.hpp"

#include <ctime>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace cairn {
namespace {

// "Date: ..." for this second, formatted once a second and thread.
std::string_view date_line() {
    thread_local std::time_t of = 0;
    thread_local char line[64];
    thread_local std::size_t size = 0;
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec != of) {
        of = now.tv_sec;
        std::tm parts{};
        ::gmtime_r(&of, &parts);
        size = std::strftime(line, sizeof line, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
    }
    return {line, size};
}

bool has_length(int status) noexcept { return status >= 200 && status != 204 && status != 304; }

}  // namespace

std::string_view reason_phrase(int status) noexcept {
    switch (status) {
        case 100: return "Continue";
        case 200: return "OK";
        case 201: return "Created";
        case 204: return "No Content";
        case 206: return "Partial Content";
        case 304: return "Not Modified";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 412: return "Precondition Failed";
        case 413: return "Content Too Large";
        case 414: return "URI Too Long";
        case 415: return "Unsupported Media Type";
        case 416: return "Range Not Satisfiable";
        case 417: return "Expectation Failed";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 503: return "Service Unavailable";
        case 505: return "HTTP Version Not Supported";
        case 507: return "Insufficient Storage";
        default: return "Unknown";
    }
}

void response::start(int status) {
    status_ = status;
    closes_ = false;
    open_ended_ = false;
    fields_.clear();
    body_bytes_ = 0;
    text_.clear();
    stream_.reset();
}

void response::field(std::string_view name, std::string_view value) {
    fields_.append(name).append(": ").append(value).append("\r\n");
}

void response::field(std::string_view name, std::uint64_t value) {
    field(name, std::string_view(fmt::format_int(value).c_str()));
}

void response::text(std::string_view content_type, std::string text) {
    field("Content-Type", content_type);
    text_ = std::move(text);
    body_bytes_ = text_.size();
}

void response::stream(std::unique_ptr<source> body, std::uint64_t size_bytes) {
    stream_ = std::move(body);
    body_bytes_ = size_bytes;
}

void response::stream_to_end(std::unique_ptr<source> body) {
    stream_ = std::move(body);
    open_ended_ = true;
}

void response::write_head(std::string& out, const head_frame& frame) const {
    out.assign("HTTP/1.1 ");
    out.append(fmt::format_int(status_).c_str()).append(" ");
    out.append(reason_phrase(status_)).append("\r\n");
    out.append(date_line());
    if (frame.chunked) {
        out.append("Transfer-Encoding: chunked\r\n");
    } else if (has_length(status_) && !open_ended_) {
        out.append("Content-Length: ").append(fmt::format_int(body_bytes_).c_str()).append("\r\n");
    }
    if (!frame.keep) {
        out.append("Connection: close\r\n");
    } else if (frame.say_keep) {
        out.append("Connection: keep-alive\r\n");
    }
    out.append(fields_).append(frame.lines).append("\r\n");
}

void add_blob_fields(response& answer, const blob_id& id, audience who) {
    answer.raw_fields(who == audience::everybody ? "Cache-Control: public"
                                                 : "Cache-Control: private");
    answer.raw_fields(
        ", max-age=31536000, immutable\r\n"
        "Accept-Ranges: bytes\r\n"
        "X-Content-Type-Options: nosniff\r\n");
    answer.raw_fields("ETag: \"");
    answer.raw_fields(id.hex());
    answer.raw_fields("\"\r\nRepr-Digest: ");
    answer.raw_fields(repr_digest(id));
    answer.raw_fields("\r\n");
}

}  // namespace cairn
