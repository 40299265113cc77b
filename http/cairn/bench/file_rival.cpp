#include "http/cairn/bench/callers.hpp"
#include "http/cairn/bench/puts.hpp"
#include "http/cairn/bench/reads.hpp"
#include "http/cairn/bench/slow_disk.hpp"
#include "runtime/bytes.hpp"
#include "runtime/hash.hpp"

#include <atomic>
#include <fcntl.h>
#include <fstream>
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
    terms runs_under() const override {
        terms under;
        under.does = work::fresh_puts;
        under.durability = "full";  // every put below ends with both syncs, or throws
        under.sync_delay = this_disk().delay();
        under.checks = "SHA-256 for the name";
        return under;
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
        this_disk().flush();
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
        this_disk().flush();
    }

    const std::filesystem::path folder_;
    const put_load load_;
    const publish how_;
    int directory_ = -1;
    std::vector<std::vector<std::byte>> bodies_;
    std::vector<fresh_bytes> random_;
};

class file_reads_rival final : public contender {
public:
    file_reads_rival(const std::filesystem::path& folder, read_load load) : load_(load) {
        std::filesystem::create_directories(folder);
        fresh_bytes random;
        std::vector<std::byte> body(load.size_bytes);
        for (std::size_t i = 0; i < load.blobs; ++i) {
            random.fill(body.data(), body.size());
            paths_.push_back(folder / to_hex(sha256::of(body)));
            const auto size_bytes = static_cast<std::streamsize>(body.size());
            std::ofstream file(paths_.back(), std::ios::binary);
            file.write(reinterpret_cast<const char*>(body.data()), size_bytes);
        }
        copies_.resize(load.callers, body);
    }

    std::string what() const override { return "a file a blob, opened, read and closed"; }
    terms runs_under() const override { return {}; }
    sample run(run_time time) override {
        return drive(load_.callers, time, [this](std::size_t caller, latencies& times) {
            const std::string& path = paths_[turn_++ % paths_.size()];
            const auto began = std::chrono::steady_clock::now();
            read(path, copies_[caller]);
            times.add(std::chrono::steady_clock::now() - began);
        });
    }

private:
    static void read(const std::string& path, std::vector<std::byte>& to) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) fail("open");
        std::size_t count = 0;
        ssize_t got = 0;
        do {
            got = ::read(file, to.data() + count, to.size() - count);
            if (got > 0) count += static_cast<std::size_t>(got);
        } while (got > 0 && count < to.size());
        ::close(file);
        if (count != to.size()) fail("read all");
    }

    const read_load load_;
    std::vector<std::string> paths_;
    std::vector<std::vector<std::byte>> copies_;
    std::atomic<std::size_t> turn_{0};
};

}  // namespace

std::unique_ptr<contender> file_reads(std::filesystem::path folder, read_load load) {
    return std::make_unique<file_reads_rival>(folder, load);
}

std::unique_ptr<contender> file_puts(std::filesystem::path folder, put_load load, publish how) {
    return std::make_unique<file_rival>(std::move(folder), load, how);
}

}  // namespace cairn::bench
