// Reading, listing and removing blobs.
#include "http/conditional.hpp"
#include "http/grammar.hpp"
#include "http/multipart.hpp"
#include "http/multipart_source.hpp"
#include "http/range.hpp"
#include "http/routes.hpp"

#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <utility>

namespace cairn {
namespace {

constexpr std::size_t list_limit_default = 1'000;
constexpr std::uint64_t list_limit_max = 10'000;

void send_whole(exchange& x, const blob_id& id, std::unique_ptr<source> body, std::uint64_t size) {
    x.begin_blob(200, id);
    x.answer.field("Content-Type", "application/octet-stream");
    x.answer.stream(std::move(body), size);
}

void send_part(exchange& x,
               const blob_id& id,
               byte_range part,
               std::unique_ptr<source> body,
               std::uint64_t size) {
    x.begin_blob(206, id);
    x.answer.field("Content-Type", "application/octet-stream");
    x.answer.field("Content-Range", content_range(part, size));
    x.answer.stream(std::move(body), part.size_bytes);
}

void refuse_range(exchange& x, std::uint64_t size) {
    x.refuse(416, "out-of-range", fmt::format("the blob is {} bytes long", size));
    x.answer.field("Content-Range", fmt::format("bytes */{}", size));
    x.answer.field("Accept-Ranges", "bytes");
}

void not_found(exchange& x) { x.refuse(404, "not-found", "no such blob"); }

// A blob whose bytes are in memory is cut without asking the store again.
std::unique_ptr<source> cut(const source& whole, byte_range part) {
    const auto* held = dynamic_cast<const buffer_source*>(&whole);
    if (held == nullptr) return nullptr;
    return std::make_unique<buffer_source>(held->rest().slice(part.offset, part.size_bytes));
}

void send_parts(exchange& x, const blob_id& id, std::vector<byte_range> parts, std::uint64_t size) {
    multipart_frame frame(std::move(parts), size, make_boundary());
    x.begin_blob(206, id);
    x.answer.field("Content-Type", frame.content_type());
    const std::uint64_t body_bytes = frame.size_bytes();
    x.answer.stream(std::make_unique<multipart_source>(x.store(), id, std::move(frame)),
                    body_bytes);
}

awaitable<void> get_part(exchange& x, blob_id id, std::unique_ptr<source> whole, byte_range part) {
    const std::uint64_t size = *whole->size();
    std::unique_ptr<source> body = cut(*whole, part);
    if (body == nullptr) {
        whole.reset();
        auto found = co_await x.store().get(id, part);
        if (!found) co_return x.refuse(found.error());
        if (*found == nullptr) co_return not_found(x);
        body = std::move(*found);
    }
    send_part(x, id, part, std::move(body), size);
}

}  // namespace

awaitable<void> get_blob(exchange& x, blob_id id) {
    const byte_range everything;
    auto found = co_await x.store().get(id, everything);
    if (!found) co_return x.refuse(found.error());
    if (*found == nullptr) co_return not_found(x);
    if (!x.conditions_hold(id, true)) co_return;

    const std::uint64_t size = *(*found)->size();
    const auto field = x.request.find(field_name::range);
    range_selection selected;
    if (field && range_applies(x.request.find(field_name::if_range), id.hex())) {
        selected = select_ranges(*field, size);
    }
    switch (selected.what) {
        case range_selection::kind::whole: send_whole(x, id, std::move(*found), size); break;
        case range_selection::kind::unsatisfiable: refuse_range(x, size); break;
        case range_selection::kind::parts:
            if (selected.parts.size() == 1) {
                co_await get_part(x, id, std::move(*found), selected.parts.front());
            } else {
                send_parts(x, id, std::move(selected.parts), size);
            }
            break;
    }
}

awaitable<void> head_blob(exchange& x, blob_id id) {
    const auto held = co_await x.store().hold(id);
    if (!held) co_return x.refuse(held.error());
    if (!*held) co_return not_found(x);
    if (!x.conditions_hold(id, true)) co_return;
    x.begin_blob(200, id);
    x.answer.field("Content-Type", "application/octet-stream");
    x.answer.length_only((*held)->size_bytes);
}

awaitable<void> delete_blob(exchange& x, blob_id id) {
    if (x.request.find(field_name::if_match) || x.request.find(field_name::if_none_match)) {
        const auto held = co_await x.store().hold(id);
        if (!held) co_return x.refuse(held.error());
        if (!x.conditions_hold(id, held->has_value())) co_return;
    }
    const auto removed = co_await x.store().remove(id);
    if (!removed) co_return x.refuse(removed.error());
    if (!*removed) co_return not_found(x);
    x.answer.start(204);
}

namespace {

struct list_request {
    std::optional<blob_id> after;
    std::size_t limit = list_limit_default;
    bool lines = false;  // NDJSON
};

std::optional<list_request> parse_list_request(exchange& x) {
    list_request wanted;
    const auto after = query_parameter(x.target.query, "after");
    if (after && !after->empty()) {
        wanted.after = parse_blob_name(*after);
        if (!wanted.after) {
            x.refuse(400, "malformed-id", "`after` is not an id");
            return std::nullopt;
        }
    }
    if (const auto limit = query_parameter(x.target.query, "limit")) {
        const auto number = parse_decimal(*limit);
        if (!number || *number < 1 || *number > list_limit_max) {
            x.refuse(400, "malformed-limit", "`limit` is a number from 1 to 10000");
            return std::nullopt;
        }
        wanted.limit = static_cast<std::size_t>(*number);
    }
    const auto accepted = x.request.joined(field_name::accept);
    wanted.lines = accepted && accepted->find("application/x-ndjson") != std::string::npos;
    return wanted;
}

std::string rows_of(const std::vector<listed_blob>& blobs, std::string_view separator) {
    std::string rows;
    rows.reserve(blobs.size() * 100);
    for (const listed_blob& blob : blobs) {
        if (!rows.empty()) rows += separator;
        fmt::format_to(std::back_inserter(rows), R"({{"id":"{}","size":{}}})", blob.id.hex(),
                       blob.size_bytes);
    }
    return rows;
}

}  // namespace

awaitable<void> list_blobs(exchange& x) {
    const auto wanted = parse_list_request(x);
    if (!wanted) co_return;
    // One more than asked for tells whether there is a next page.
    auto listed = co_await x.store().list(wanted->after, wanted->limit + 1);
    if (!listed) co_return x.refuse(listed.error());
    std::string next = "null";
    x.answer.start(200);
    x.answer.field("Cache-Control", "no-store");
    if (listed->size() > wanted->limit) {
        listed->resize(wanted->limit);
        const std::string last = listed->back().id.hex();
        next = fmt::format(R"("{}")", last);
        x.answer.field(
            "Link", fmt::format(R"(</blobs?after={}&limit={}>; rel="next")", last, wanted->limit));
    }
    if (wanted->lines) {
        const std::string rows = rows_of(*listed, "\n");
        x.answer.text("application/x-ndjson", rows.empty() ? rows : rows + "\n");
    } else {
        x.answer.text("application/json",
                      fmt::format("{{\"blobs\":[{}],\"next\":{}}}\n", rows_of(*listed, ","), next));
    }
}

}  // namespace cairn
