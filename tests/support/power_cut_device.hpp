// An ext4 file system whose disk can lose its power at any moment, as often as a test likes.
//
// A helper program (tests/fault/power_cut_disk_main.cpp) keeps the disk: what was flushed, and the
// writes since. A loop device stands on it and ext4 on that, so it is the kernel's own journal and
// ordering that decide what a power cut leaves; nothing is simulated above the block layer.
//
// Needs root, /dev/fuse and loop devices. All mounts are made in a mount namespace of the calling
// thread, loop devices detach themselves with their last user, and helpers die with their parent: a
// test that is killed leaves nothing behind. Use it on one thread, and start what shall see the
// mounts (a server) from that thread too.
#pragma once

#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace cairn::test {

// Why power cuts cannot be tested here; nothing when they can.
std::optional<std::string> power_cuts_unavailable();

// A file as a block device, mounted as ext4; unmounted by the destructor. Throws std::system_error.
class mounted_image {
public:
    mounted_image(const std::filesystem::path& image, const std::filesystem::path& mount_point);
    ~mounted_image();
    mounted_image(const mounted_image&) = delete;
    mounted_image& operator=(const mounted_image&) = delete;

    const std::filesystem::path& path() const { return mount_point_; }

private:
    std::filesystem::path mount_point_;
};

class power_cut_device {
public:
    struct cut_report {
        std::size_t unflushed = 0;  // writes that no flush covered
        std::size_t kept = 0;       // of those, in the image
        bool torn = false;          // one of the kept ones only in part
    };

    // An empty ext4 file system on a new disk. `helper` is the program that keeps it.
    power_cut_device(const std::string& helper, std::uint64_t size_bytes);
    ~power_cut_device();

    const std::filesystem::path& path() const { return file_system_->path(); }

    // Writes the image that a power cut right now could leave; the device itself goes on. What was
    // synced before the call is in it. `seed` decides what else is.
    cut_report cut(const std::filesystem::path& image, std::uint64_t seed);

private:
    temp_dir folder_{"cairn-power-cut"};
    std::unique_ptr<process> disk_;
    std::unique_ptr<mounted_image> file_system_;
};

}  // namespace cairn::test
