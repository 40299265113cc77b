#include "http/server_context.hpp"

namespace cairn {

http_metrics::http_metrics(cairn::metrics& registry)
    : duration(registry.get_histogram("cairn_http_request_duration_seconds",
                                      "from a request's head to the last byte of its answer")),
      received_bytes(
          registry.get_counter("cairn_http_received_bytes_total", "bytes of request bodies")),
      sent_bytes(registry.get_counter("cairn_http_sent_bytes_total", "bytes of answers")),
      refused_connections(registry.get_counter("cairn_http_refused_connections_total",
                                               "connections over the limit, answered 503")) {
    constexpr std::array<const char*, 7> methods{"GET",    "HEAD",    "PUT",  "POST",
                                                 "DELETE", "OPTIONS", "other"};
    for (std::size_t method = 0; method < methods.size(); ++method) {
        for (std::size_t digit = 0; digit < requests_[method].size(); ++digit) {
            // No status begins with 0; the slot saves a branch.
            const std::string status = std::to_string(digit == 0 ? 5 : digit) + "xx";
            requests_[method][digit] =
                &registry.get_counter("cairn_http_requests_total", "requests answered",
                                      {{"method", methods[method]}, {"status", status}});
        }
    }
}

}  // namespace cairn
