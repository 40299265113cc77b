// Many blobs in one request: their sizes, their bytes, or bytes to store.
#include "http/batch_limits.hpp"
#include "http/batch_writer.hpp"
#include "http/blob_frames.hpp"
#include "http/frame_reader.hpp"
#include "http/frames_source.hpp"
#include "http/grammar.hpp"
#include "http/id_list.hpp"
#include "http/routes.hpp"
#include "runtime/side_by_side.hpp"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

// What the body is, without parameters; empty when the request does not say.
std::string_view media_type(const request_head& request) {
    const std::string_view field = request.find(field_name::content_type).value_or("");
    return trim(field.substr(0, field.find(';')));
}

// False when the head alone is reason to refuse; then x is answered.
bool body_is_acceptable(exchange& x) {
    if (x.request.find(field_name::content_encoding)) {
        x.refuse(415, "content-encoding", "the body is read as it is, without Content-Encoding");
        return false;
    }
    return x.budget_is_left();
}

std::optional<id_list_form> form_of(exchange& x) {
    const std::string_view type = media_type(x.request);
    if (type.empty() || iequals(type, "application/json")) return id_list_form::json;
    if (iequals(type, binary_ids_type)) return id_list_form::binary;
    x.refuse(415, "content-type",
             fmt::format("ids come as application/json or as {}", binary_ids_type));
    return std::nullopt;
}

void refuse_list(exchange& x, const id_list_parser& list, const error_code& why) {
    if (list.complaint().empty()) return x.refuse(why);
    if (why == errc::too_large) return x.refuse(413, "too-large", list.complaint());
    x.refuse(400, "malformed", list.complaint());
}

// The ids that the body lists; nothing when x is answered.
awaitable<std::optional<std::vector<blob_id>>> read_ids(exchange& x) {
    const auto form = form_of(x);
    if (!form || !body_is_acceptable(x)) co_return std::nullopt;
    const std::uint64_t bytes_max = id_list_bytes_max(*form);
    if (x.request.content_length() > bytes_max) {
        x.refuse(
            413, "too-large",
            fmt::format("a list holds up to {} ids, in {} bytes", batch_entries_max, bytes_max));
        co_return std::nullopt;
    }
    x.body.limit_to(bytes_max);
    id_list_parser list(*form);
    for (;;) {
        const auto window = co_await x.body.next();
        if (!window) {
            refuse_list(x, list, window.error());
            co_return std::nullopt;
        }
        auto good = window->empty() ? list.finish() : list.eat(window->view());
        if (!good) {
            refuse_list(x, list, good.error());
            co_return std::nullopt;
        }
        if (window->empty()) co_return list.take();
    }
}

std::string rows_of(const std::vector<batch_writer::outcome>& outcomes) {
    std::string rows;
    rows.reserve(outcomes.size() * 110);
    const auto out = std::back_inserter(rows);
    for (const batch_writer::outcome& each : outcomes) {
        fmt::format_to(out, R"({{"id":"{}","status":{},"created":{})", each.id.hex(), each.status,
                       each.created);
        if (!each.type.empty()) fmt::format_to(out, R"(,"type":"{}")", each.type);
        rows += "}\n";
    }
    return rows;
}

void refuse_frames(exchange& x, const frame_reader& frames, const error_code& why) {
    if (!frames.complaint().empty()) return x.refuse(400, "malformed", frames.complaint());
    if (frames.failure()) return x.refuse(why);
    x.refuse(413, "too-large",
             fmt::format("more than {} entries; those before may be stored", batch_entries_max));
}

}  // namespace

awaitable<void> stat_blobs(exchange& x) {
    const auto renew = query_parameter(x.target.query, "renew");
    // Under keep-all a lease has no end that could be put off, so both ask the same of the store.
    if (renew && *renew != "0" && *renew != "1") {
        co_return x.refuse(400, "malformed-renew", "`renew` is 0 or 1");
    }
    const auto ids = co_await read_ids(x);
    if (!ids) co_return;
    std::vector<std::optional<lease>> held(ids->size());
    error_code failure;
    const auto look_up = [&](std::size_t i) -> awaitable<void> {
        if (failure) co_return;
        const auto found = co_await x.store().hold((*ids)[i]);
        if (found) {
            held[i] = *found;
        } else {
            failure = found.error();
        }
    };
    const std::function<awaitable<void>(std::size_t)> work = look_up;
    co_await side_by_side(ids->size(), batch_at_once, work);
    if (failure) co_return x.refuse(failure);

    std::string sizes = "[";
    for (const auto& each : held) {
        if (sizes.size() > 1) sizes += ',';
        sizes += each ? fmt::format_int(each->size_bytes).c_str() : "null";
    }
    x.answer.start(200);
    x.answer.field("Cache-Control", "no-store");
    x.answer.text("application/json", sizes + "]\n");
}

awaitable<void> read_blobs(exchange& x) {
    auto ids = co_await read_ids(x);
    if (!ids) co_return;
    x.answer.start(200);
    x.answer.field("Content-Type", blob_frames_type);
    x.answer.field("Cache-Control", "no-store");
    x.answer.stream_to_end(
        std::make_unique<frames_source>(x.store(), std::move(*ids), x.server.batch_budget));
}

awaitable<void> write_blobs(exchange& x) {
    const std::string_view type = media_type(x.request);
    if (!type.empty() && !iequals(type, blob_frames_type)) {
        co_return x.refuse(415, "content-type", fmt::format("blobs come as {}", blob_frames_type));
    }
    if (!body_is_acceptable(x)) co_return;
    x.body.limit_to(UINT64_MAX);  // each entry has its own
    const executor home = co_await asio::this_coro::executor;
    frame_reader frames(x.body);
    batch_writer writer(home, x.store(), frames, x.server.batch_budget,
                        x.server.settings.blob_bytes_max);
    const auto outcomes = co_await writer.run();
    if (!outcomes) co_return refuse_frames(x, frames, outcomes.error());
    x.answer.start(200);
    x.answer.field("Cache-Control", "no-store");
    x.answer.field("Cairn-Durability", to_string(x.server.kept));
    x.answer.text("application/x-ndjson", rows_of(*outcomes));
}

}  // namespace cairn
