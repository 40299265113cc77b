#include "http/head.hpp"

#include "http/grammar.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace cairn {
namespace beast = boost::beast;

std::optional<std::size_t> head_scanner::refuse(int status, std::string_view reason) {
    refusal_ = head_refusal{status, reason};
    return std::nullopt;
}

std::optional<std::size_t> head_scanner::find_end(std::string_view received) {
    if (!received.empty() && received.front() == '\x16') {
        return refuse(400, "a TLS handshake, but this port speaks plain HTTP");
    }
    while (!refusal_) {
        const std::size_t feed = received.find('\n', searched_);
        searched_ = std::min(feed, received.size());
        if (lines_ == 0 && searched_ - line_begin_ > target_bytes_max + 64) {
            return refuse(414, "the request line is over 8 KiB");
        }
        if (searched_ >= head_bytes_max) return refuse(431, "the head is over 16 KiB");
        if (feed == std::string_view::npos) return std::nullopt;
        const std::string_view line = received.substr(line_begin_, feed - line_begin_);
        if (!line.ends_with('\r')) return refuse(400, "a line does not end in CRLF");
        searched_ = line_begin_ = feed + 1;
        if (line.size() > 1) {
            if (!accept_line(line.substr(0, line.size() - 1))) break;
        } else if (lines_ > 0) {
            return line_begin_;
        } else if (feed != 1) {
            // RFC 9112 2.2 asks servers to pass over one empty line before a request, not over
            // many.
            return refuse(400, "empty lines where a request should begin");
        }
    }
    return std::nullopt;
}

bool head_scanner::accept_line(std::string_view line) {
    ++lines_;
    if (line.find('\r') != std::string_view::npos) {
        refuse(400, "a carriage return inside a line");
    } else if (lines_ > 1 && (line.front() == ' ' || line.front() == '\t')) {
        refuse(400, "a folded header line");
    } else if (lines_ - 1 > head_fields_max) {
        refuse(431, "more than 100 header fields");
    }
    return !refusal_;
}

namespace {

http_method method_of(beast::http::verb verb) noexcept {
    switch (verb) {
        case beast::http::verb::get: return http_method::get;
        case beast::http::verb::head: return http_method::head;
        case beast::http::verb::put: return http_method::put;
        case beast::http::verb::post: return http_method::post;
        case beast::http::verb::delete_: return http_method::del;
        case beast::http::verb::options: return http_method::options;
        default: return http_method::other;
    }
}

field_name name_of(beast::http::field known, std::string_view text) noexcept {
    switch (known) {
        case beast::http::field::accept: return field_name::accept;
        case beast::http::field::authorization: return field_name::authorization;
        case beast::http::field::connection: return field_name::connection;
        case beast::http::field::content_encoding: return field_name::content_encoding;
        case beast::http::field::content_length: return field_name::content_length;
        case beast::http::field::content_range: return field_name::content_range;
        case beast::http::field::content_type: return field_name::content_type;
        case beast::http::field::expect: return field_name::expect;
        case beast::http::field::host: return field_name::host;
        case beast::http::field::if_match: return field_name::if_match;
        case beast::http::field::if_none_match: return field_name::if_none_match;
        case beast::http::field::if_range: return field_name::if_range;
        case beast::http::field::origin: return field_name::origin;
        case beast::http::field::range: return field_name::range;
        case beast::http::field::transfer_encoding: return field_name::transfer_encoding;
        case beast::http::field::want_digest: return field_name::want_digest;
        default: break;
    }
    // Younger than Beast 1.81.
    if (iequals(text, "repr-digest")) return field_name::repr_digest;
    if (iequals(text, "content-digest")) return field_name::content_digest;
    return field_name::other;
}

// Letters, digits and these marks.
bool is_all(std::string_view text, std::string_view marks) noexcept {
    return std::all_of(text.begin(), text.end(), [marks](char c) {
        return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
               marks.find(c) != std::string_view::npos;
    });
}

// A Host is a name or an address, maybe with a port; what else would stand in it is an attack.
// It may be empty where a client has no name for us (RFC 9112 3.2).
bool is_host(std::string_view text) noexcept {
    if (text.empty()) return true;
    const bool bracketed = text.front() == '[';
    const std::size_t close = bracketed ? text.find(']') : std::string_view::npos;
    if (bracketed && close == std::string_view::npos) return false;
    const std::size_t end = bracketed ? close + 1 : std::min(text.find(':'), text.size());
    const std::string_view name = bracketed ? text.substr(1, close - 1) : text.substr(0, end);
    if (bracketed ? name.find(':') == std::string_view::npos : name.empty()) return false;
    if (!is_all(name, bracketed ? "-._~:%" : "-._~%")) return false;
    const std::string_view port = text.substr(end);
    if (port.empty()) return true;
    return port.front() == ':' && port.size() <= 6 &&
           std::all_of(port.begin() + 1, port.end(), is_digit);
}

// Whether the request line has three parts and the last of them is a version: Beast calls whatever
// else stands there a bad version.
bool names_version(std::string_view head) noexcept {
    const std::string_view line = head.substr(0, head.find('\r'));
    if (line.size() < 9 || std::count(line.begin(), line.end(), ' ') != 2) return false;
    const std::string_view version = line.substr(line.size() - 9);
    return version.starts_with(" HTTP/") && is_digit(version[6]) && version[7] == '.' &&
           is_digit(version[8]);
}

}  // namespace

// Keeps views of what the parser finds, where its own message type would copy it.
class request_parser final : public beast::http::basic_parser<true> {
public:
    explicit request_parser(request_head& head) : head_(head) {
        header_limit(head_bytes_max + 2);
        body_limit(boost::none);  // the body is read, and limited, elsewhere
    }

private:
    using error_code = beast::error_code;
    using string_view = beast::string_view;

    void on_request_impl(beast::http::verb verb,
                         string_view method,
                         string_view target,
                         int version,
                         error_code&) override {
        head_.method_ = method_of(verb);
        head_.method_text_ = {method.data(), method.size()};
        head_.target_ = {target.data(), target.size()};
        head_.version_ = static_cast<unsigned>(version);
    }

    void on_field_impl(beast::http::field known,
                       string_view name,
                       string_view value,
                       error_code&) override {
        const std::string_view text(name.data(), name.size());
        head_.fields_.push_back({name_of(known, text), trim({value.data(), value.size()})});
    }

    void on_response_impl(int, string_view, int, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(string_view body, error_code&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
        return body.size();
    }
    void on_finish_impl(error_code&) override {}

    request_head& head_;
};

std::optional<head_refusal> request_head::parse(std::string_view head) {
    if (head.starts_with("\r\n")) head.remove_prefix(2);
    fields_.clear();
    framing_ = body_framing::none;
    content_length_ = 0;

    request_parser parser(*this);
    beast::error_code ec;
    parser.put(boost::asio::buffer(head.data(), head.size()), ec);
    if (ec == beast::http::error::bad_version && names_version(head)) {
        return head_refusal{505, "only HTTP/1.1 and HTTP/1.0 are spoken here"};
    }
    if (ec || !parser.is_header_done()) return head_refusal{400, "the head does not parse"};
    return judge();
}

std::optional<head_refusal> request_head::judge() {
    if (target_.size() > target_bytes_max) return head_refusal{414, "the target is over 8 KiB"};
    const std::size_t hosts = count(field_name::host);
    if (hosts > 1) return head_refusal{400, "more than one Host"};
    if (hosts == 0 && !is_http_1_0()) return head_refusal{400, "no Host"};
    if (hosts == 1 && !is_host(*find(field_name::host))) {
        return head_refusal{400, "Host is not a host"};
    }
    return judge_framing();
}

std::optional<head_refusal> request_head::judge_framing() {
    const std::size_t codings = count(field_name::transfer_encoding);
    const std::size_t lengths = count(field_name::content_length);
    if (codings > 0) {
        if (codings > 1) return head_refusal{400, "more than one Transfer-Encoding"};
        if (!iequals(*find(field_name::transfer_encoding), "chunked")) {
            return head_refusal{400, "Transfer-Encoding is not exactly `chunked`"};
        }
        if (lengths > 0) return head_refusal{400, "Transfer-Encoding with Content-Length"};
        if (is_http_1_0()) return head_refusal{400, "Transfer-Encoding on HTTP/1.0"};
        framing_ = body_framing::chunked;
        return std::nullopt;
    }
    if (lengths == 0) return std::nullopt;
    if (lengths > 1) return head_refusal{400, "more than one Content-Length"};
    const auto length = parse_decimal(*find(field_name::content_length));
    if (!length) return head_refusal{400, "Content-Length is not a number"};
    framing_ = *length > 0 ? body_framing::length : body_framing::none;
    content_length_ = *length;
    return std::nullopt;
}

bool request_head::keeps_alive() const noexcept {
    bool keep = !is_http_1_0();
    for (const header_field& field : fields_) {
        if (field.name != field_name::connection) continue;
        if (list_has(field.value, "close")) return false;
        if (list_has(field.value, "keep-alive")) keep = true;
    }
    return keep;
}

std::optional<std::string_view> request_head::find(field_name name) const noexcept {
    for (const header_field& field : fields_) {
        if (field.name == name) return field.value;
    }
    return std::nullopt;
}

std::size_t request_head::count(field_name name) const noexcept {
    return static_cast<std::size_t>(
        std::count_if(fields_.begin(), fields_.end(),
                      [name](const header_field& field) { return field.name == name; }));
}

std::optional<std::string> request_head::joined(field_name name) const {
    std::optional<std::string> all;
    for (const header_field& field : fields_) {
        if (field.name != name) continue;
        if (!all) {
            all.emplace(field.value);
        } else {
            all->append(", ").append(field.value);
        }
    }
    return all;
}

}  // namespace cairn
