// Finds records by reading segments from end to end: for rebuild and audits, never for recovery.
#pragma once

#include "engines/bulk.hpp"
#include "io/file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace cairn {

// The numbers of the segment files in `folder` from `first` on, in order; none when the folder is
// not there.
awaitable<result<std::vector<std::uint64_t>>> list_segments(file_system& files,
                                                            std::filesystem::path folder,
                                                            std::uint64_t first = 0);

// As bulk::scan(), over the segment files in `folder`; other files there are passed over.
awaitable<result<std::vector<found_record>>> scan_segments(file_system& files,
                                                           std::filesystem::path folder,
                                                           locator after,
                                                           std::size_t limit);

}  // namespace cairn
