// Reading JSON that another program wrote: what is missing or of another type is empty.
#pragma once

#include "store/store.hpp"

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

// Empty when the text is not one JSON object.
boost::json::object parse_object(std::string_view text);

std::string text_at(const boost::json::object& in, std::string_view key);
std::uint64_t number_at(const boost::json::object& in, std::string_view key);

// durability::none for anything unknown: no promise is better than a wrong one.
durability parse_durability(std::string_view text) noexcept;

}  // namespace cairn
