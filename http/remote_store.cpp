#include "http/remote_store.hpp"

#include "http/json_fields.hpp"
#include "http/reply_source.hpp"
#include "http/status_json.hpp"
#include "http/upload.hpp"

#include <algorithm>
#include <boost/json/value.hpp>
#include <boost/system/result.hpp>
#include <fmt/format.h>
#include <utility>

namespace cairn {
namespace {

namespace json = boost::json;

// A page of a listing is the longest text that a server sends us.
constexpr std::size_t text_bytes_max = 4 << 20;
constexpr std::size_t page_blobs_max = 10'000;
std::string target_of(const blob_id& id) { return "/blobs/" + id.hex(); }

// The error that a problem's type names; for types that we do not know, the status decides.
error_code error_of(int status, std::string_view type) noexcept {
    struct known {
        std::string_view type;
        errc error;
    };
    static constexpr known all[] = {
        {"digest-mismatch", errc::digest_mismatch},
        {"quarantined", errc::quarantined},
        {"short-body", errc::short_body},
        {"vanished", errc::vanished},
        {"stopped", errc::stopped},
        {"outcome-unknown", errc::outcome_unknown},
    };
    for (const known& each : all) {
        if (type == each.type) return each.error;
    }
    switch (status) {
        case 401: return errc::unauthorized;
        case 404: return errc::absent;
        case 408: return errc::timed_out;
        case 413: return errc::too_large;
        case 416: return errc::out_of_range;
        case 503: return errc::overloaded;
        case 507: return errc::no_space;
        default: return errc::refused;
    }
}

std::string range_field(byte_range range) {
    if (range.size_bytes >= byte_range::to_end - range.offset) {
        return fmt::format("Range: bytes={}-\r\n", range.offset);
    }
    return fmt::format("Range: bytes={}-{}\r\n", range.offset, range.offset + range.size_bytes - 1);
}

}  // namespace

remote_store::remote_store(host_port server, client_settings settings, std::string_view token)
    : pool_(std::make_shared<connection_pool>(std::move(server), settings, token)) {}

remote_store::~remote_store() { pool_->close(); }

// Sends a request without a body and reads the head of its reply.
awaitable<result<reply>> remote_store::ask(std::string_view method,
                                           std::string target,
                                           std::string fields) {
    const std::string head = pool_->head_of(method, target, fields);
    const byte_view no_body;
    for (bool fresh = false;; fresh = true) {
        auto taken = co_await pool_->take(fresh);
        if (!taken) co_return taken.error();
        reply out;
        out.connection = std::move(taken->connection);
        auto sent = co_await out.connection->send(as_bytes(head), no_body);
        error_code ec = sent ? error_code() : sent.error();
        if (sent) {
            auto got = co_await out.connection->read_head(method);
            if (got) {
                out.head = std::move(*got);
                co_return out;
            }
            ec = got.error();
        }
        if (!taken->used_before || !is_stale(ec)) co_return ec;
    }
}

awaitable<result<std::string>> remote_store::read_text(reply& from) {
    std::string text;
    while (!from.connection->body_ended()) {
        const auto window = co_await from.connection->read_body();
        if (!window) co_return window.error();
        text += window->text();
        if (text.size() > text_bytes_max) co_return error_code(errc::too_large);
    }
    pool_->give_back(std::move(from.connection));
    co_return text;
}

awaitable<error_code> remote_store::read_refusal(reply& from) {
    const auto text = co_await read_text(from);
    if (!text) co_return text.error();
    co_return error_of(from.head.status, text_at(parse_object(*text), "type"));
}

awaitable<result<std::unique_ptr<source>>> remote_store::get(blob_id id, byte_range range) {
    const bool whole = range.offset == 0 && range.size_bytes == byte_range::to_end;
    if (range.size_bytes == 0) {
        const auto held = co_await hold(id);
        if (!held) co_return held.error();
        if (!*held) co_return std::unique_ptr<source>();
        const std::uint64_t size = (*held)->size_bytes;
        if (range.offset > size || (range.offset == size && size > 0)) {
            co_return error_code(errc::out_of_range);
        }
        co_return std::make_unique<buffer_source>(buffer());
    }
    std::string wanted;
    if (!whole) wanted = range_field(range);
    auto got = co_await ask("GET", target_of(id), std::move(wanted));
    if (!got) co_return got.error();
    const reply_head& head = got->head;
    if (head.status == (whole ? 200 : 206) && head.content_length) {
        std::optional<blob_id> verified;
        if (whole) verified = id;
        co_return std::make_unique<reply_source>(pool_, std::move(got->connection),
                                                 *head.content_length, verified);
    }
    // An empty blob has no satisfiable range, yet its beginning can be asked for.
    const bool empty_blob = head.status == 416 && head.content_range == "bytes */0";
    const error_code ec = co_await read_refusal(*got);
    if (empty_blob && range.offset == 0) co_return std::make_unique<buffer_source>(buffer());
    if (ec == errc::absent) co_return std::unique_ptr<source>();
    co_return ec;
}

awaitable<result<std::optional<lease>>> remote_store::hold(blob_id id) {
    auto got = co_await ask("HEAD", target_of(id), std::string());
    if (!got) co_return got.error();
    pool_->give_back(std::move(got->connection));
    std::optional<lease> held;
    if (got->head.status == 404) co_return held;
    if (got->head.status != 200 || !got->head.content_length) {
        co_return error_of(got->head.status, "");
    }
    held.emplace();
    held->size_bytes = *got->head.content_length;
    co_return held;
}

awaitable<result<std::vector<listed_blob>>> remote_store::list(std::optional<blob_id> after,
                                                               std::size_t limit) {
    std::vector<listed_blob> all;
    while (all.size() < limit) {
        const std::size_t wanted = std::min(limit - all.size(), page_blobs_max);
        auto page = co_await list_page(after, wanted);
        if (!page) co_return page.error();
        all.insert(all.end(), page->begin(), page->end());
        if (page->size() < wanted) break;
        after = all.back().id;
    }
    co_return all;
}

awaitable<result<std::vector<listed_blob>>> remote_store::list_page(std::optional<blob_id> after,
                                                                    std::size_t limit) {
    std::string target = fmt::format("/blobs?limit={}", limit);
    if (after) target += "&after=" + after->hex();
    auto got = co_await ask("GET", std::move(target), std::string());
    if (!got) co_return got.error();
    if (got->head.status != 200) {
        const error_code ec = co_await read_refusal(*got);
        co_return ec;
    }
    const auto text = co_await read_text(*got);
    if (!text) co_return text.error();
    const json::object page = parse_object(*text);
    const json::value* rows = page.if_contains("blobs");
    if (rows == nullptr || !rows->is_array()) co_return error_code(errc::malformed);
    std::vector<listed_blob> blobs;
    for (const json::value& row : rows->get_array()) {
        if (!row.is_object()) co_return error_code(errc::malformed);
        const auto id = blob_id::parse(text_at(row.get_object(), "id"));
        if (!id) co_return error_code(errc::malformed);
        blobs.push_back({*id, number_at(row.get_object(), "size")});
    }
    co_return blobs;
}

awaitable<result<bool>> remote_store::remove(blob_id id) {
    auto got = co_await ask("DELETE", target_of(id), std::string());
    if (!got) co_return result<bool>(boost::system::in_place_error, got.error());
    const int status = got->head.status;
    if (status == 204) {
        pool_->give_back(std::move(got->connection));
        co_return true;
    }
    const error_code ec = co_await read_refusal(*got);
    if (status == 404) co_return false;
    co_return result<bool>(boost::system::in_place_error, ec);
}

awaitable<result<backup>> remote_store::back_up() {
    auto got = co_await ask("POST", "/backup", "Content-Length: 0\r\n");
    if (!got) co_return got.error();
    if (got->head.status != 201) {
        const error_code ec = co_await read_refusal(*got);
        co_return ec;
    }
    auto text = co_await read_text(*got);
    if (!text) co_return text.error();
    const boost::json::object fields = parse_object(*text);
    co_return backup{text_at(fields, "name"), number_at(fields, "size")};
}

awaitable<result<std::string>> remote_store::status_json() {
    auto got = co_await ask("GET", "/status", std::string());
    if (!got) co_return got.error();
    if (got->head.status != 200) {
        const error_code ec = co_await read_refusal(*got);
        co_return ec;
    }
    co_return co_await read_text(*got);
}

awaitable<result<store_status>> remote_store::status() {
    const auto text = co_await status_json();
    if (!text) co_return text.error();
    store_status out = parse_status(*text);
    out.bulk = out.catalog + ", " + out.bulk;
    out.catalog = "http://" + pool_->to().text();
    co_return out;
}

awaitable<void> remote_store::close() {
    pool_->close();
    co_return;
}

awaitable<result<receipt>> remote_store::put(source& body, std::optional<blob_id> claim) {
    upload out(*pool_, body, claim);
    auto got = co_await out.send();
    if (!got) co_return got.error();
    if (got->head.status != 200 && got->head.status != 201) {
        const error_code ec = co_await read_refusal(*got);
        co_return ec;
    }
    const auto text = co_await read_text(*got);
    if (!text) co_return text.error();
    const json::object in = parse_object(*text);
    const auto id = blob_id::parse(text_at(in, "id"));
    if (!id) co_return error_code(errc::malformed);
    // Neither a wrong server nor the way to it may tell us that something else is stored.
    if (out.sent_id() && *out.sent_id() != *id) co_return error_code(errc::corrupt);
    if (claim && *id != *claim) co_return error_code(errc::corrupt);
    receipt stored;
    stored.id = *id;
    stored.size_bytes = number_at(in, "size");
    stored.created = got->head.status == 201;
    stored.kept = parse_durability(text_at(in, "durability"));
    co_return stored;
}

}  // namespace cairn
