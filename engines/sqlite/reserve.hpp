// Space that is kept back for removals: a file beside the catalog, given up when the disk is full.
//
// A removal needs a little space before it gives any back, so on a disk that is full to the last
// block nothing could ever be removed. While the reserve is gone the writer refuses whatever makes
// the store grow, so that only removals use it; it is taken again as soon as there is room.
//
// Blocking, on the writer's thread.
#pragma once

#include <cstdint>
#include <filesystem>

namespace cairn::sqlite {

class reserve {
public:
    // For the catalog at `catalog`. Holds nothing yet; what an earlier process left is given up.
    explicit reserve(const std::filesystem::path& catalog);

    bool held() const noexcept { return held_; }

    // Takes the space: a sixteenth of the disk, 8 MiB at most. False when there is no room for it.
    // Where space cannot be set aside at all there is no reserve, and that counts as held.
    bool take();

    // Gives it up; false when it was gone already.
    bool give_up() noexcept;

private:
    const std::filesystem::path path_;
    bool held_ = false;
};

}  // namespace cairn::sqlite
