// What a figure was measured on: no figure is worth anything without it.
#pragma once

#include <filesystem>
#include <string>

namespace cairn::bench {

struct machine {
    std::string cpu;
    unsigned cores = 0;
    std::string kernel;
    std::string file_system;  // of the folder that the bench writes to
};

machine this_machine(const std::filesystem::path& folder);

// fdatasync calls a second after appends of 256 bytes, one at a time, for a fifth of a second.
double sync_rate(const std::filesystem::path& folder);

}  // namespace cairn::bench
