// A small ext4 file system of its own, that a test fills up, and turns read-only, as it likes.
//
// Needs what power_cut_device needs (power_cuts_unavailable() tells), and lives by the same rules:
// on one thread, and what shall see it starts from that thread.
#pragma once

#include "tests/support/power_cut_device.hpp"
#include "tests/support/temp_dir.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace cairn::test {

class small_disk {
public:
    explicit small_disk(std::uint64_t size_bytes);

    const std::filesystem::path& path() const { return mounted_->path(); }
    std::uint64_t free_bytes() const;

    // Takes all space but `free_bytes`, or every last block.
    void leave_free(std::uint64_t free_bytes);
    void fill_up();
    // Gives back what the calls above took.
    void relieve();

    // Makes the kernel find an error in it: from now on the file system is read-only, whoever
    // writes to it.
    void break_down();
    // Unmounts and mounts it again, writable. Nobody uses it meanwhile.
    void mount_again();

private:
    temp_dir folder_{"cairn-small-disk"};
    std::optional<mounted_image> mounted_;
};

}  // namespace cairn::test
