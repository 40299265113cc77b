// Finds records by reading segments from end to end: for rebuild and audits, never for recovery.
#pragma once

#include "engines/bulk.hpp"
#include "io/file.hpp"

#include <cstddef>
#include <filesystem>
#include <vector>

namespace cairn {

// As bulk::scan(), over the segment files in `folder`; other files there are passed over.
awaitable<result<std::vector<found_record>>> scan_segments(file_system& files,
                                                           std::filesystem::path folder,
                                                           locator after,
                                                           std::size_t limit);

}  // namespace cairn
