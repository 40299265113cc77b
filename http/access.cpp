#include "http/access.hpp"

#include "http/grammar.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/error.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

namespace cairn {
namespace {

// Without the port, and without the brackets of an IPv6 address.
std::string_view host_name(std::string_view host) noexcept {
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
    }
    return host.substr(0, host.find(':'));
}

// What stands behind `Bearer`; nothing for another scheme.
std::optional<std::string_view> bearer_token_of(std::string_view credentials) noexcept {
    constexpr std::string_view scheme = "Bearer";
    const std::size_t end = std::min(credentials.find(' '), credentials.size());
    if (!iequals(credentials.substr(0, end), scheme)) return std::nullopt;
    return trim(credentials.substr(end));
}

// What supervisors ask, who know no token. They learn no more than that we are here.
bool is_for_everybody(const request_head& request, const request_target& target) noexcept {
    return request.method() == http_method::options || target.path == "/healthz" ||
           target.path == "/readyz";
}

}  // namespace

bool is_loopback_address(std::string_view text) {
    error_code ec;
    const auto address = asio::ip::make_address(std::string(text), ec);
    if (ec) return false;
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).is_loopback();
    }
    return address.is_loopback();
}

access_rules::access_rules(const http_settings& settings, std::string_view address)
    : address_(address),
      cors_origin_(settings.cors_origin),
      loopback_(is_loopback_address(address)) {
    if (!settings.token.empty()) token_.emplace(settings.token);
    if (cors_origin_.empty()) return;
    cors_fields_ = "Access-Control-Allow-Origin: " + cors_origin_ +
                   "\r\nAccess-Control-Expose-Headers: Content-Range, Content-Length, ETag, "
                   "Accept-Ranges, Repr-Digest\r\n";
    if (cors_origin_ != "*") cors_fields_ += "Vary: Origin\r\n";
}

std::optional<access_refusal> access_rules::judge(const request_head& request,
                                                  const request_target& target) const {
    if (const auto refusal = judge_site(request, target)) return refusal;
    return judge_token(request, target);
}

std::optional<access_refusal> access_rules::judge_token(const request_head& request,
                                                        const request_target& target) const {
    if (!token_ || is_for_everybody(request, target)) return std::nullopt;
    const auto credentials = request.find(field_name::authorization);
    const auto sent = credentials ? bearer_token_of(*credentials) : std::nullopt;
    if (!sent) {
        return access_refusal{401, "unauthorized", "this server asks for a bearer token",
                              "Bearer realm=\"cairn\""};
    }
    // Two of them could be judged by one of us and forwarded by another.
    if (request.count(field_name::authorization) == 1 && token_->accepts(*sent)) {
        return std::nullopt;
    }
    return access_refusal{401, "unauthorized", "this is not the token of this server",
                          "Bearer realm=\"cairn\", error=\"invalid_token\""};
}

std::optional<access_refusal> access_rules::judge_site(const request_head& request,
                                                       const request_target& target) const {
    // Elsewhere names are the business of whoever runs the network.
    if (!loopback_) return std::nullopt;
    const auto field = request.find(field_name::host);
    const std::string_view host = target.authority.value_or(field.value_or(""));
    if ((field || target.authority) && !is_known_host(host)) {
        return access_refusal{403,
                              "unknown-host",
                              "this server is reached as localhost or by the address that it "
                              "listens on",
                              {}};
    }
    const bool reading =
        request.method() == http_method::get || request.method() == http_method::head;
    const auto origin = request.find(field_name::origin);
    if (!reading && origin && request.method() != http_method::options &&
        !is_trusted_origin(*origin, host)) {
        return access_refusal{403,
                              "cross-site",
                              "a page of another site may not change anything here; "
                              "--cors-origin allows one",
                              {}};
    }
    return std::nullopt;
}

bool access_rules::allows_page(const request_head& request) const noexcept {
    if (cors_origin_.empty()) return false;
    return cors_origin_ == "*" || request.find(field_name::origin) == cors_origin_;
}

std::string_view access_rules::cors_fields(const request_head& request) const noexcept {
    if (cors_origin_.empty()) return {};
    if (allows_page(request)) return cors_fields_;
    // A cache must not keep this answer for a page that may read it.
    return "Vary: Origin\r\n";
}

bool access_rules::is_known_host(std::string_view host) const {
    const std::string_view name = host_name(host);
    return iequals(name, "localhost") || name == address_ || is_loopback_address(name);
}

bool access_rules::is_trusted_origin(std::string_view origin,
                                     std::string_view host) const noexcept {
    if (cors_origin_ == "*" || origin == cors_origin_) return true;
    constexpr std::string_view scheme = "http://";
    return origin.starts_with(scheme) && iequals(origin.substr(scheme.size()), host);
}

}  // namespace cairn
