#include "tests/support/small_disk.hpp"

#include "tests/support/process.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& doing) {
    throw std::system_error(errno, std::generic_category(), doing);
}

void make_image(const fs::path& image, std::uint64_t size_bytes) {
    const int file = ::open(image.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) fail("create " + image.string());
    const bool sized = ::ftruncate(file, static_cast<off_t>(size_bytes)) == 0;
    ::close(file);
    if (!sized) fail("size " + image.string());
    process mkfs({"mkfs.ext4", "-q", "-m", "0", "-e", "remount-ro", image.string()});
    const auto ended = mkfs.wait(std::chrono::minutes(1));
    if (!ended || ended->status != 0) throw std::runtime_error("mkfs.ext4 failed");
}

class ballast {
public:
    explicit ballast(const fs::path& path)
        : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
        if (file_ < 0) fail("create " + path.string());
    }
    ~ballast() { ::close(file_); }
    ballast(const ballast&) = delete;
    ballast& operator=(const ballast&) = delete;

    // A little less, where the file system needs some for itself.
    void take(std::uint64_t size_bytes) {
        constexpr std::uint64_t step = 64 << 10;
        while (size_bytes > step && ::fallocate(file_, 0, 0, static_cast<off_t>(size_bytes)) != 0) {
            if (errno != ENOSPC) fail("take space");
            size_bytes -= step;
        }
    }
    void take_all() {
        const std::vector<char> block(4096, 'x');
        while (::write(file_, block.data(), block.size()) > 0) {
        }
        ::fsync(file_);
    }

private:
    const int file_;
};

}  // namespace

small_disk::small_disk(std::uint64_t size_bytes) {
    make_image(folder_ / "image", size_bytes);
    mounted_.emplace(folder_ / "image", folder_ / "mounted");
}

std::uint64_t small_disk::free_bytes() const {
    struct statvfs about {};
    if (::statvfs(path().c_str(), &about) != 0) fail("statvfs");
    return std::uint64_t{about.f_bavail} * about.f_frsize;
}

void small_disk::leave_free(std::uint64_t free_bytes) {
    const std::uint64_t now = this->free_bytes();
    if (now > free_bytes) ballast(path() / "ballast").take(now - free_bytes);
}

void small_disk::fill_up() { ballast(path() / "more-ballast").take_all(); }

void small_disk::relieve() {
    fs::remove(path() / "ballast");
    fs::remove(path() / "more-ballast");
}

void small_disk::break_down() {
    struct stat about {};
    if (::stat(path().c_str(), &about) != 0) fail("stat");
    const std::string device =
        std::to_string(major(about.st_dev)) + ":" + std::to_string(minor(about.st_dev));
    const fs::path name = fs::read_symlink("/sys/dev/block/" + device).filename();
    std::ofstream trigger("/sys/fs/ext4" / name / "trigger_fs_error");
    if (!(trigger << "a test" << std::flush)) throw std::runtime_error("no trigger_fs_error");
}

void small_disk::mount_again() {
    mounted_.reset();
    mounted_.emplace(folder_ / "image", folder_ / "mounted");
}

}  // namespace cairn::test
