#include "http/routes.hpp"

namespace cairn {
namespace {

constexpr std::string_view blobs_path = "/blobs";

// An awaitable for what is answered already.
awaitable<void> answered() { co_return; }

awaitable<void> refused(exchange& x, int status, std::string_view type, std::string_view detail) {
    x.refuse(status, type, detail);
    return answered();
}

bool is_read(http_method method) noexcept {
    return method == http_method::get || method == http_method::head;
}

// What OPTIONS, and a method that a resource does not know, are told.
awaitable<void> tell_methods(exchange& x, std::string_view methods) {
    if (x.request.method() == http_method::options) {
        x.answer.start(204);
        x.answer.field("Allow", methods);
        if (x.server.rules.allows_page(x.request)) {
            x.answer.field("Access-Control-Allow-Methods", methods);
            x.answer.field("Access-Control-Allow-Headers",
                           "Authorization, Content-Type, Range, If-Match, If-None-Match, If-Range, "
                           "Repr-Digest, Content-Digest, Want-Digest");
            x.answer.field("Access-Control-Max-Age", "86400");
        }
    } else {
        x.refuse(405, "method-not-allowed", "the resource does not know this method");
        x.answer.field("Allow", methods);
    }
    return answered();
}

// Ids that others give to the bytes, and that this server does not keep.
bool is_foreign_id(std::string_view name) noexcept {
    return name.starts_with("git-sha1:") || name.starts_with("git-sha256:");
}

awaitable<void> route_blob(exchange& x, std::string_view name) {
    if (is_foreign_id(name)) {
        return refused(x, 400, "unsupported-id",
                       "this server does not know blobs by their git ids, only by SHA-256");
    }
    const auto id = parse_blob_name(name);
    if (!id) {
        return refused(x, 400, "malformed-id",
                       "an id is 64 lower-case hex digits, alone or behind `sha256:`");
    }
    switch (x.request.method()) {
        case http_method::get: return get_blob(x, *id);
        case http_method::head: return head_blob(x, *id);
        case http_method::put: return put_blob(x, *id);
        case http_method::del: return delete_blob(x, *id);
        default: return tell_methods(x, "GET, HEAD, PUT, DELETE, OPTIONS");
    }
}

using batch_route = awaitable<void> (*)(exchange&);

// The route of a verb that stands where an id could; null when the name is none.
batch_route batch_route_of(std::string_view name) noexcept {
    if (name == "stat") return stat_blobs;
    if (name == "read") return read_blobs;
    if (name == "write") return write_blobs;
    return nullptr;
}

awaitable<void> route_backup(exchange& x) {
    if (x.request.method() == http_method::post) return make_backup(x);
    return tell_methods(x, "POST, OPTIONS");
}

awaitable<void> route_blobs(exchange& x) {
    if (is_read(x.request.method())) return list_blobs(x);
    if (x.request.method() == http_method::post) return post_blob(x);
    return tell_methods(x, "GET, HEAD, POST, OPTIONS");
}

// The routes that people and supervisors watch. They answer, but for /metrics and /readyz's
// verdict, also while the store is not open.
awaitable<void> route_service(exchange& x) {
    const std::string_view path = x.target.path;
    const bool health = path == "/healthz";
    const bool status = path == "/status";
    const bool ready = path == "/readyz";
    if (!health && !status && !ready && path != "/metrics") {
        return refused(x, 404, "not-found", "no such resource");
    }
    if (!is_read(x.request.method())) return tell_methods(x, "GET, HEAD, OPTIONS");
    if (ready) return get_readiness(x);
    if (status) return get_status(x);
    health ? get_health(x) : get_metrics(x);
    return answered();
}

}  // namespace

awaitable<void> route(exchange& x) {
    if (const auto refusal = x.server.rules.judge(x.request, x.target)) {
        x.refuse(refusal->status, refusal->type, refusal->detail);
        if (!refusal->challenge.empty()) x.answer.field("WWW-Authenticate", refusal->challenge);
        return answered();
    }
    const std::string_view path = x.target.path;
    if (path == "*" && x.request.method() == http_method::options) {
        return tell_methods(x, "GET, HEAD, PUT, POST, DELETE, OPTIONS");
    }
    const bool is_backup = path == "/backup";
    if (!is_backup && !path.starts_with(blobs_path)) return route_service(x);
    const std::string_view rest = is_backup ? path : path.substr(blobs_path.size());
    if (!rest.empty() && rest.front() != '/') return route_service(x);
    if (x.server.store.load(std::memory_order_acquire) == nullptr) {
        return refused(x, 503, "starting", "the store is being opened");
    }
    if (is_backup) return route_backup(x);
    if (rest.empty()) return route_blobs(x);
    const std::string_view name = rest.substr(1);
    const batch_route batch = batch_route_of(name);
    if (batch == nullptr) return route_blob(x, name);
    if (x.request.method() == http_method::post) return batch(x);
    return tell_methods(x, "POST, OPTIONS");
}

}  // namespace cairn
