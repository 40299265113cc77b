#include "io/posix_file_system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace cairn {
namespace {

class descriptor {
public:
    explicit descriptor(int number) noexcept : number_(number) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int number() const noexcept { return number_; }

private:
    int number_;
};

// Makes a system call again while signals interrupt it. Not for syncs: their errors are final.
template <class Call>
auto uninterrupted(Call call) {
    auto answer = call();
    while (answer == -1 && errno == EINTR) answer = call();
    return answer;
}

// What a system call that returns 0 or -1 said.
result<void> outcome_of(int answer) {
    if (answer != 0) return last_system_error();
    return {};
}

// As outcome_of(), where a file system that lacks the feature counts as success.
result<void> outcome_where_supported(int answer) {
    if (answer != 0 && errno == EOPNOTSUPP) return {};
    return outcome_of(answer);
}

// Moves on with what lies in the page cache; true when that finished the operation.
bool read_cached(operation& work) {
    while (!work.finished()) {
        iovec piece{work.data(), work.size()};
        const auto count =
            ::preadv2(work.descriptor(), &piece, 1, static_cast<off_t>(work.offset()), RWF_NOWAIT);
        if (count < 0) return false;  // EAGAIN: cold. Other errors come back from the real read.
        work.advance(static_cast<int>(count));
    }
    return true;
}

result<std::uint64_t> size_of(int number) {
    struct stat about {};
    if (::fstat(number, &about) != 0) return last_system_error();
    return static_cast<std::uint64_t>(about.st_size);
}

result<void> take_space(int number, std::uint64_t size_bytes) {
    const auto size = static_cast<off_t>(size_bytes);
    const int answer = uninterrupted([&] { return ::fallocate(number, 0, 0, size); });
    if (answer == 0 || errno != EOPNOTSUPP) return outcome_of(answer);
    // Without the space, at least the length: the caller relies on reading zeros there.
    const auto present = size_of(number);
    if (!present) return present.error();
    if (*present >= size_bytes) return {};
    return outcome_of(uninterrupted([&] { return ::ftruncate(number, size); }));
}

class posix_file final : public file {
public:
    posix_file(posix_file_system& owner, int number)
        : owner_(owner), descriptor_(std::make_shared<const descriptor>(number)) {}

    awaitable<result<buffer>> read_at(std::uint64_t offset, std::size_t size_bytes) override {
        auto work = operation::read(descriptor_, native_handle(), offset, size_bytes);
        if (!read_cached(work)) work = co_await owner_.perform(std::move(work));
        co_return std::move(work).bytes();
    }

    std::optional<buffer> try_read_at(std::uint64_t offset, std::size_t size_bytes) override {
        auto work = operation::read(descriptor_, native_handle(), offset, size_bytes);
        if (!read_cached(work)) return std::nullopt;
        auto bytes = std::move(work).bytes();
        if (!bytes) return std::nullopt;
        return std::move(*bytes);
    }

    awaitable<result<void>> write_at(std::uint64_t offset, std::vector<buffer> pieces) override {
        auto work = operation::write(descriptor_, native_handle(), offset, std::move(pieces));
        work = co_await owner_.perform(std::move(work));
        co_return work.status();
    }

    awaitable<result<void>> sync(byte_range written) override {
        auto work = operation::sync(descriptor_, native_handle(), written);
        work = co_await owner_.perform(std::move(work));
        co_return work.status();
    }

    awaitable<result<void>> preallocate(std::uint64_t size_bytes) override {
        auto call = [kept = descriptor_, size_bytes] {
            return take_space(kept->number(), size_bytes);
        };
        return owner_.pool().run(std::move(call));
    }

    awaitable<result<void>> punch(std::uint64_t offset, std::uint64_t size_bytes) override {
        auto call = [kept = descriptor_, offset, size_bytes] {
            return outcome_where_supported(uninterrupted([&] {
                return ::fallocate(kept->number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                   static_cast<off_t>(offset), static_cast<off_t>(size_bytes));
            }));
        };
        return owner_.pool().run(std::move(call));
    }

    awaitable<result<void>> truncate(std::uint64_t size_bytes) override {
        auto call = [kept = descriptor_, size_bytes] {
            return outcome_of(uninterrupted(
                [&] { return ::ftruncate(kept->number(), static_cast<off_t>(size_bytes)); }));
        };
        return owner_.pool().run(std::move(call));
    }

    awaitable<result<std::uint64_t>> size() override {
        auto call = [kept = descriptor_] { return size_of(kept->number()); };
        return owner_.pool().run(std::move(call));
    }

    int native_handle() const noexcept override { return descriptor_->number(); }

private:
    posix_file_system& owner_;
    const std::shared_ptr<const descriptor> descriptor_;
};

int flags_of(open_mode mode) noexcept {
    switch (mode) {
        case open_mode::read: return O_RDONLY | O_CLOEXEC;
        case open_mode::read_write: return O_RDWR | O_CLOEXEC;
        case open_mode::create: return O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    }
    return O_RDONLY | O_CLOEXEC;
}

result<void> sync_folder(const std::filesystem::path& path) {
    const descriptor folder(
        uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (folder.number() < 0) return last_system_error();
    return outcome_of(::fsync(folder.number()));
}

result<void> make_folder(const std::filesystem::path& path) {
    if (::mkdir(path.c_str(), 0700) == 0) return {};
    const error_code failed = last_system_error();
    struct stat about {};
    const bool present = ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
    if (present) return {};
    return failed;
}

result<std::vector<std::string>> list_files(const std::filesystem::path& path) {
    std::error_code failed;
    std::vector<std::string> names;
    std::filesystem::directory_iterator each(path, failed);
    for (; !failed && each != std::filesystem::directory_iterator(); each.increment(failed)) {
        std::error_code ignored;  // gone meanwhile: no file
        if (each->is_regular_file(ignored)) names.push_back(each->path().filename().string());
    }
    if (failed) return system_error_from(failed.value());
    std::sort(names.begin(), names.end());
    return names;
}

result<disk_space> space_at(const std::filesystem::path& path) {
    struct statvfs about {};
    if (::statvfs(path.c_str(), &about) != 0) return last_system_error();
    const std::uint64_t block_bytes = about.f_frsize;
    return disk_space{about.f_bavail * block_bytes, about.f_blocks * block_bytes};
}

}  // namespace

awaitable<result<std::shared_ptr<file>>> posix_file_system::open(std::filesystem::path path,
                                                                 open_mode mode) {
    auto call = [this, path = std::move(path), mode]() -> result<std::shared_ptr<file>> {
        const int number =
            uninterrupted([&] { return ::open(path.c_str(), flags_of(mode), 0600); });
        if (number < 0) return last_system_error();
        return std::make_shared<posix_file>(*this, number);
    };
    return pool().run(std::move(call));
}

awaitable<result<void>> posix_file_system::remove(std::filesystem::path path) {
    auto call = [path = std::move(path)]() -> result<void> {
        const int answer = ::unlink(path.c_str());
        if (answer != 0 && errno == ENOENT) return {};
        return outcome_of(answer);
    };
    return pool().run(std::move(call));
}

awaitable<result<void>> posix_file_system::rename(std::filesystem::path from,
                                                  std::filesystem::path to) {
    auto call = [from = std::move(from), to = std::move(to)] {
        return outcome_of(::rename(from.c_str(), to.c_str()));
    };
    return pool().run(std::move(call));
}

awaitable<result<void>> posix_file_system::make_directory(std::filesystem::path path) {
    auto call = [path = std::move(path)] { return make_folder(path); };
    return pool().run(std::move(call));
}

awaitable<result<void>> posix_file_system::sync_directory(std::filesystem::path path) {
    auto call = [path = std::move(path)] { return sync_folder(path); };
    return pool().run(std::move(call));
}

awaitable<result<std::vector<std::string>>> posix_file_system::list(std::filesystem::path path) {
    auto call = [path = std::move(path)] { return list_files(path); };
    return pool().run(std::move(call));
}

awaitable<result<disk_space>> posix_file_system::space(std::filesystem::path path) {
    auto call = [path = std::move(path)] { return space_at(path); };
    return pool().run(std::move(call));
}

}  // namespace cairn
