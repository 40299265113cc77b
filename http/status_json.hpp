// A store's status as JSON: what /status says, `cairn status --json` prints and a remote store
// reads.
#pragma once

#include "store/store.hpp"

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

namespace cairn {

void add_status(boost::json::object& out, const store_status& status);
std::string status_json(const store_status& status);

// What is missing or of another type keeps its default: a server may be older or younger than we.
store_status parse_status(std::string_view text);

}  // namespace cairn
