// Who may do what: the one function that decides about every request before its route sees it.
//
// It keeps web pages out of a server that only this machine should reach (DNS rebinding, requests
// across sites), answers what browsers ask, and lets in who brings the token where there is one.
#pragma once

#include "http/bearer_token.hpp"
#include "http/head.hpp"
#include "http/settings.hpp"
#include "http/target.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cairn {

struct access_refusal {
    int status = 403;
    std::string_view type;
    std::string_view detail;     // literals
    std::string_view challenge;  // for WWW-Authenticate, where a token would help
};

// Immutable, so any thread.
class access_rules {
public:
    // `address` is the IP address that the server listens on.
    access_rules(const http_settings& settings, std::string_view address);

    // Nothing when the request may go on.
    std::optional<access_refusal> judge(const request_head& request,
                                        const request_target& target) const;

    // Whether the setting lets the page that sent the request read the answer.
    bool allows_page(const request_head& request) const noexcept;
    // The fields by which every answer tells browsers and caches so; often none.
    std::string_view cors_fields(const request_head& request) const noexcept;

    bool is_loopback() const noexcept { return loopback_; }
    bool asks_for_token() const noexcept { return token_.has_value(); }

private:
    std::optional<access_refusal> judge_site(const request_head& request,
                                             const request_target& target) const;
    std::optional<access_refusal> judge_token(const request_head& request,
                                              const request_target& target) const;
    bool is_known_host(std::string_view host) const;
    bool is_trusted_origin(std::string_view origin, std::string_view host) const noexcept;

    std::string address_;
    std::optional<token_check> token_;
    std::string cors_origin_;
    std::string cors_fields_;
    bool loopback_;
};

// Whether the text is an IP address, and one that only this machine reaches.
bool is_loopback_address(std::string_view text);

}  // namespace cairn
