#include "tests/support/power_cut_device.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <system_error>
#include <unistd.h>

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& doing) {
    throw std::system_error(errno, std::generic_category(), doing);
}

// Mounts of this thread and its children are nobody else's, and end with the last of them.
void enter_private_mounts() {
    static thread_local bool entered = false;
    if (entered) return;
    if (::unshare(CLONE_NEWNS) != 0) fail("unshare the mount namespace");
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) fail("make / private");
    entered = true;
}

class descriptor {
public:
    descriptor(const fs::path& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC)) {
        if (value_ < 0) fail("open " + path.string());
    }
    ~descriptor() { ::close(value_); }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    int get() const { return value_; }

private:
    int value_;
};

// A free loop device on `image`, attached for as long as somebody has it open or mounted.
class loop_device {
public:
    explicit loop_device(const fs::path& image) {
        const descriptor control("/dev/loop-control", O_RDWR);
        const descriptor backing(image, O_RDWR);
        for (;;) {
            const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
            if (number < 0) fail("find a free loop device");
            path_ = "/dev/loop" + std::to_string(number);
            // Without udev the kernel knows more devices than /dev shows.
            constexpr unsigned loop_major = 7;
            ::mknod(path_.c_str(), S_IFBLK | 0600, ::makedev(loop_major, unsigned(number)));
            auto device = std::make_unique<descriptor>(path_, O_RDWR);
            loop_config config{};
            config.fd = static_cast<__u32>(backing.get());
            config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
            if (::ioctl(device->get(), LOOP_CONFIGURE, &config) == 0) {
                held_ = std::move(device);
                return;
            }
            if (errno != EBUSY) fail("attach " + path_.string());
        }
    }

    const fs::path& path() const { return path_; }

private:
    fs::path path_;
    std::unique_ptr<descriptor> held_;
};

void run_quietly(const std::vector<std::string>& command) {
    process tool(command);
    const std::string said = tool.read_all();
    const auto ended = tool.wait(std::chrono::minutes(1));
    if (!ended || ended->status != 0) throw std::runtime_error(command[0] + " failed: " + said);
}

void mount_ext4(const loop_device& device, const fs::path& mount_point) {
    if (::mount(device.path().c_str(), mount_point.c_str(), "ext4", MS_NOATIME, nullptr) != 0)
        fail("mount " + device.path().string() + " at " + mount_point.string());
}

}  // namespace

std::optional<std::string> power_cuts_unavailable() {
    if (::geteuid() != 0) return "not root";
    for (const char* device : {"/dev/fuse", "/dev/loop-control"})
        if (::access(device, R_OK | W_OK) != 0) return std::string("no ") + device;
    try {
        enter_private_mounts();
    } catch (const std::system_error& refusal) {
        return refusal.what();
    }
    return std::nullopt;
}

mounted_image::mounted_image(const fs::path& image, const fs::path& mount_point)
    : mount_point_(mount_point) {
    enter_private_mounts();
    fs::create_directories(mount_point_);
    mount_ext4(loop_device(image), mount_point_);
}

mounted_image::~mounted_image() {
    // A process that still uses it keeps it until it ends, and we end ours.
    if (::umount2(mount_point_.c_str(), 0) != 0) ::umount2(mount_point_.c_str(), MNT_DETACH);
}

power_cut_device::power_cut_device(const std::string& helper, std::uint64_t size_bytes) {
    enter_private_mounts();
    const fs::path fuse = folder_ / "fuse";
    const fs::path images = folder_ / "images";
    fs::create_directory(fuse);
    fs::create_directory(images);
    disk_ = std::make_unique<process>(std::vector<std::string>{
        helper, fuse.string(), images.string(), std::to_string(size_bytes)});
    if (disk_->read_line(std::chrono::seconds(10)) != "ready")
        throw std::runtime_error("the power-cut disk did not start");
    {
        const loop_device device(fuse / "disk");
        run_quietly({"mkfs.ext4", "-q", "-E", "lazy_itable_init=1", device.path().string()});
    }
    file_system_ = std::make_unique<mounted_image>(fuse / "disk", folder_ / "mounted");
}

power_cut_device::~power_cut_device() {
    file_system_.reset();
    disk_->close_input();
    disk_->wait(std::chrono::seconds(10));
    ::umount2((folder_ / "fuse").c_str(), MNT_DETACH);
}

power_cut_device::cut_report power_cut_device::cut(const fs::path& image, std::uint64_t seed) {
    std::ostringstream command;
    command << "cut " << seed << ' ' << image.string() << '\n';
    if (!disk_->write(command.str())) throw std::runtime_error("the power-cut disk is gone");
    const auto answer = disk_->read_line(std::chrono::minutes(1));
    std::istringstream words(answer.value_or(""));
    std::string verb;
    cut_report report;
    words >> verb >> report.unflushed >> report.kept >> report.torn;
    if (verb != "cut") throw std::runtime_error("the power-cut disk did not answer");
    return report;
}

}  // namespace cairn::test
