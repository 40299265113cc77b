// What people, supervisors and Prometheus ask a server about itself.
#include "http/routes.hpp"
#include "http/status_json.hpp"

#include <boost/json/serialize.hpp>
#include <string_view>

namespace cairn {
namespace {

void answer_word(exchange& x, std::string_view word) {
    x.answer.start(200);
    x.answer.field("Cache-Control", "no-store");
    x.answer.text("text/plain; charset=utf-8", std::string(word) + "\n");
}

}  // namespace

void get_health(exchange& x) { answer_word(x, "ok"); }

awaitable<void> get_readiness(exchange& x) {
    if (x.server.store.load(std::memory_order_acquire) == nullptr) {
        co_return x.refuse(503, "starting", "the store is being opened");
    }
    if (x.server.draining) co_return x.refuse(503, "closing", "the server is going away");
    const auto status = co_await x.store().status();
    if (!status) co_return x.refuse(status.error());
    if (!status->stopped.empty()) co_return x.refuse(errc::stopped);
    answer_word(x, "ready");
}

awaitable<void> get_status(exchange& x) {
    boost::json::object out;
    std::string_view state = "starting";
    if (x.server.store.load(std::memory_order_acquire) != nullptr) {
        auto status = co_await x.store().status();
        if (!status && status.error() != errc::stopped) co_return x.refuse(status.error());
        const bool stopped = !status || !status->stopped.empty();
        state = x.server.draining ? "closing" : "ready";
        if (stopped) state = "stopped";
        if (status) {
            // The reason may name files; the log has it.
            if (stopped) status->stopped = "a sync failed: see the log, then restart";
            add_status(out, *status);
        }
    }
    out["state"] = state;
    out["connections"] = x.server.connections.load();
    const auto uptime = std::chrono::steady_clock::now() - x.server.started;
    out["uptime_seconds"] = std::chrono::duration_cast<std::chrono::seconds>(uptime).count();
    out["version"] = CAIRN_VERSION;
    x.answer.start(200);
    x.answer.field("Cache-Control", "no-store");
    x.answer.text("application/json", boost::json::serialize(out) + "\n");
}

void get_metrics(exchange& x) {
    x.answer.start(200);
    x.answer.field("Cache-Control", "no-store");
    x.answer.text("text/plain; version=0.0.4; charset=utf-8", x.server.registry.expose());
}

}  // namespace cairn
