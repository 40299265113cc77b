#include "http/reply_head.hpp"

#include "http/grammar.hpp"
#include "http/head.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

namespace cairn {
namespace {

namespace beast = boost::beast;

class reply_parser final : public beast::http::basic_parser<false> {
public:
    explicit reply_parser(reply_head& head) : head_(head) {
        header_limit(head_bytes_max + 2);
        body_limit(boost::none);
        skip(true);  // the body is read elsewhere
    }

    bool is_sound() const noexcept { return lengths_ <= 1 && codings_ <= 1 && !malformed_; }
    bool has_two_framings() const noexcept { return lengths_ > 0 && codings_ > 0; }

private:
    using error_code = beast::error_code;
    using string_view = beast::string_view;

    void on_response_impl(int code, string_view, int version, error_code&) override {
        head_.status = code;
        head_.keeps_alive = version == 11;
    }

    void on_field_impl(beast::http::field known,
                       string_view,
                       string_view text,
                       error_code&) override {
        const std::string_view value = trim({text.data(), text.size()});
        switch (known) {
            case beast::http::field::content_length:
                ++lengths_;
                head_.content_length = parse_decimal(value);
                malformed_ = malformed_ || !head_.content_length;
                break;
            case beast::http::field::transfer_encoding:
                ++codings_;
                head_.chunked = iequals(value, "chunked");
                malformed_ = malformed_ || !head_.chunked;
                break;
            case beast::http::field::connection:
                if (list_has(value, "close")) head_.keeps_alive = false;
                break;
            case beast::http::field::content_range: head_.content_range = value; break;
            case beast::http::field::content_type: head_.content_type = value; break;
            default: break;
        }
    }

    void on_request_impl(beast::http::verb, string_view, string_view, int, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(string_view body, error_code&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
        return body.size();
    }
    void on_finish_impl(error_code&) override {}

    reply_head& head_;
    int lengths_ = 0;
    int codings_ = 0;
    bool malformed_ = false;
};

}  // namespace

bool reply_head::has_body(std::string_view method) const noexcept {
    return method != "HEAD" && status >= 200 && status != 204 && status != 304;
}

std::size_t find_reply_end(std::string_view received) noexcept {
    constexpr std::string_view end = "\r\n\r\n";
    const std::size_t at = received.find(end);
    return at == std::string_view::npos ? 0 : at + end.size();
}

std::optional<reply_head> parse_reply(std::string_view head) {
    reply_head parsed;
    reply_parser parser(parsed);
    beast::error_code ec;
    parser.put(boost::asio::buffer(head.data(), head.size()), ec);
    if (ec || !parser.is_header_done()) return std::nullopt;
    if (!parser.is_sound() || parser.has_two_framings()) return std::nullopt;
    return parsed;
}

}  // namespace cairn
