// What the bench says, for people and as JSON.
#pragma once

#include "http/cairn/bench/comparison.hpp"
#include "http/cairn/bench/machine.hpp"
#include "http/cairn/bench/series.hpp"

#include <boost/json/object.hpp>
#include <string>

namespace cairn::bench {

std::string to_text(const comparison& row, const verdict& result);
std::string to_text(const measured_series& of);

boost::json::object to_json(const comparison& row, const verdict& result);
boost::json::object to_json(const measured_series& of);
boost::json::object to_json(const machine& on);

}  // namespace cairn::bench
