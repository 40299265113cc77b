// Finds records by reading segments: all of them for rebuild and audits, and for recovery the end
// of one that a crash left open.
#pragma once

#include "engines/bulk.hpp"
#include "engines/catalog.hpp"
#include "io/file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace cairn {

// The numbers of the segment files in `folder` from `first` on, in order; none when the folder is
// not there.
awaitable<result<std::vector<std::uint64_t>>> list_segments(file_system& files,
                                                            std::filesystem::path folder,
                                                            std::uint64_t first = 0);

// As bulk::scan(), in one segment's file. A body may hold what looks like a record of its own
// place: it is found as well, before the record that holds it, which a limit that ends between them
// leaves out.
awaitable<result<std::vector<found_record>>> scan_segment(std::shared_ptr<file> in,
                                                          std::uint64_t segment,
                                                          locator after,
                                                          std::size_t limit);

// What a found record is worth: whether its bytes hash to its id. False also where they are not all
// there; other errors are those of reading.
awaitable<result<bool>> is_whole(std::shared_ptr<file> in, found_record record);

// The change that gives a whole one its row.
put_blob put_of(const found_record& record);

// As bulk::scan(), over the segment files in `folder`; other files there are passed over.
awaitable<result<std::vector<found_record>>> scan_segments(file_system& files,
                                                           std::filesystem::path folder,
                                                           locator after,
                                                           std::uint64_t last_segment,
                                                           std::size_t limit);

}  // namespace cairn
