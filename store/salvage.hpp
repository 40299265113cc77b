// Files of a failing disk: a block that it cannot read is zeros, so that the rest is found. For a
// rebuild alone, which believes no byte that does not hash to an id.
#pragma once

#include "io/forwarding_files.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

namespace cairn {

// The real one outlives it. One executor, one call after the other.
class salvage final : public forwarding_file_system {
public:
    using forwarding_file_system::forwarding_file_system;

    // Its reads fail as the real ones do, but for EIO. The file does not outlive the salvage.
    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override;

    // Of the files that were read so far, each block once.
    std::uint64_t unreadable_bytes() const noexcept;

private:
    class salvaged_file;

    std::set<std::pair<std::filesystem::path, std::uint64_t>>
        unreadable_;  // and the block's offset
};

}  // namespace cairn
