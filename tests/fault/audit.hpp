// Whether every byte of a closed store is accounted for (SAFETY.md R2): no file that the catalog
// does not know, no row without its file, no space counted twice or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cairn::test {

// Reads the catalog and the segment files of a store that nobody has open. Returns what is not so.
std::vector<std::string> unaccounted(const std::filesystem::path& data_dir);

}  // namespace cairn::test
