#include "http/cairn/bench/callers.hpp"
#include "http/cairn/bench/puts.hpp"
#include "runtime/bytes.hpp"
#include "runtime/hash.hpp"

#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace cairn::bench {
namespace {

[[noreturn]] void fail(const char* doing) {
    throw std::system_error(errno, std::generic_category(), std::string("file rival: ") + doing);
}

class file_rival final : public contender {
public:
    file_rival(std::filesystem::path folder, put_load load, publish how)
        : folder_(std::move(folder)), load_(load), how_(how) {
        std::filesystem::create_directories(folder_);
        directory_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory_ < 0) fail("open the directory");
        bodies_.resize(load.callers, std::vector<std::byte>(load.size_bytes));
        random_.resize(load.callers);
    }
    ~file_rival() override { ::close(directory_); }

    std::string what() const override {
        return how_ == publish::rename ? "a file a blob, fsync, rename, directory sync"
                                       : "a file a blob, O_TMPFILE, fsync, linkat, directory sync";
    }
    sample run(run_time time) override {
        return drive(load_.callers, time, [this](std::size_t caller, latencies& times) {
            std::vector<std::byte>& body = bodies_[caller];
            random_[caller].fill(body.data(), body.size());
            const auto began = std::chrono::steady_clock::now();
            put(body);
            times.add(std::chrono::steady_clock::now() - began);
        });
    }

private:
    void put(const std::vector<std::byte>& body) const {
        const std::string name = to_hex(sha256::of(body));
        const std::string staged = name + ".new";
        const int file = how_ == publish::rename
                             ? ::openat(directory_, staged.c_str(),
                                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                             : ::openat(directory_, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
        if (file < 0) fail("create");
        if (::write(file, body.data(), body.size()) != static_cast<ssize_t>(body.size())) {
            fail("write");
        }
        if (::fdatasync(file) != 0) fail("sync");
        if (how_ == publish::rename) {
            if (::renameat(directory_, staged.c_str(), directory_, name.c_str()) != 0)
                fail("rename");
        } else {
            const std::string self = "/proc/self/fd/" + std::to_string(file);
            if (::linkat(AT_FDCWD, self.c_str(), directory_, name.c_str(), AT_SYMLINK_FOLLOW) !=
                0) {
                fail("link");
            }
        }
        ::close(file);
        if (::fsync(directory_) != 0) fail("sync the directory");
    }

    const std::filesystem::path folder_;
    const put_load load_;
    const publish how_;
    int directory_ = -1;
    std::vector<std::vector<std::byte>> bodies_;
    std::vector<fresh_bytes> random_;
};

}  // namespace

std::unique_ptr<contender> file_puts(std::filesystem::path folder, put_load load, publish how) {
    return std::make_unique<file_rival>(std::move(folder), load, how);
}

}  // namespace cairn::bench
