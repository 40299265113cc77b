#include "http/status_json.hpp"

#include "http/json_fields.hpp"

#include <boost/json/serialize.hpp>
#include <string>
#include <variant>
#include <vector>

namespace cairn {
namespace {

std::vector<status_detail> parse_details(const boost::json::value* engine) {
    std::vector<status_detail> details;
    if (engine == nullptr || !engine->is_object()) return details;
    for (const auto& [name, value] : engine->get_object()) {
        if (value.is_int64()) details.push_back({name, value.get_int64()});
        if (value.is_string()) details.push_back({name, std::string(value.get_string())});
    }
    return details;
}

}  // namespace

void add_status(boost::json::object& out, const store_status& status) {
    out["catalog"] = status.catalog;
    out["bulk"] = status.bulk;
    out["durability"] = to_string(status.kept);
    out["boot"] = status.boot;
    out["blobs"] = status.blob_count;
    out["blob_bytes"] = status.blob_bytes;
    out["bulk_live_bytes"] = status.bulk_live_bytes;
    out["bulk_dead_bytes"] = status.bulk_dead_bytes;
    out["segments"] = status.segment_count;
    out["reclaim"] = status.reclaim_count;
    out["quarantined"] = status.quarantined_count;
    if (!status.stopped.empty()) out["stopped"] = status.stopped;
    if (status.details.empty()) return;
    boost::json::object& details = out["engine"].emplace_object();
    for (const status_detail& each : status.details) {
        std::visit([&](const auto& value) { details[each.name] = value; }, each.value);
    }
}

std::string status_json(const store_status& status) {
    boost::json::object out;
    add_status(out, status);
    return boost::json::serialize(out);
}

store_status parse_status(std::string_view text) {
    const boost::json::object in = parse_object(text);
    store_status status;
    status.catalog = text_at(in, "catalog");
    status.bulk = text_at(in, "bulk");
    status.kept = parse_durability(text_at(in, "durability"));
    status.boot = number_at(in, "boot");
    status.blob_count = number_at(in, "blobs");
    status.blob_bytes = number_at(in, "blob_bytes");
    status.bulk_live_bytes = number_at(in, "bulk_live_bytes");
    status.bulk_dead_bytes = number_at(in, "bulk_dead_bytes");
    status.segment_count = number_at(in, "segments");
    status.reclaim_count = number_at(in, "reclaim");
    status.quarantined_count = number_at(in, "quarantined");
    status.stopped = text_at(in, "stopped");
    status.details = parse_details(in.if_contains("engine"));
    return status;
}

}  // namespace cairn
