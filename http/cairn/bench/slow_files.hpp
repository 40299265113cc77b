// The files of an embedded store on this_disk(): each sync takes its flush as well.
#pragma once

#include "io/file.hpp"

#include <memory>

namespace cairn::bench {

std::unique_ptr<file_system> on_slow_disk(std::unique_ptr<file_system> real);

}  // namespace cairn::bench
