// Files of a failing disk: a block that it cannot read is zeros, so that the rest is found. For a
// rebuild alone, which believes no byte that does not hash to an id.
#pragma once

#include "io/forwarding_files.hpp"

#include <boost/icl/interval_set.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>

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

    std::map<std::filesystem::path, boost::icl::interval_set<std::uint64_t>> unreadable_;
};

}  // namespace cairn
