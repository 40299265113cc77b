// One thing that an engine tells about itself, for people and their graphs.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace cairn {

struct status_detail {
    std::string name;  // "connections", "blobs_table_bytes"
    std::variant<std::int64_t, std::string> value;
};

}  // namespace cairn
