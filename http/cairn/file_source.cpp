#include "http/cairn/file_source.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace cairn::program {
namespace {

int open_input(const std::string& path) {
    if (path == "-") return ::dup(STDIN_FILENO);
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

std::optional<std::uint64_t> size_of(int descriptor) {
    struct stat info {};
    if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    const off_t position = ::lseek(descriptor, 0, SEEK_CUR);
    if (position < 0 || position > info.st_size) return std::nullopt;
    return static_cast<std::uint64_t>(info.st_size - position);
}

int checked_input(const std::string& path) {
    const int descriptor = open_input(path);
    if (descriptor < 0) throw std::system_error(errno, std::system_category(), path);
    struct stat info {};
    if (::fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
        ::close(descriptor);
        throw std::system_error(EISDIR, std::system_category(), path);
    }
    return descriptor;
}

// One window, full unless the input ends.
result<buffer> read_window(int descriptor) {
    buffer window = buffer::allocate(window_bytes);
    std::size_t filled = 0;
    while (filled < window.size()) {
        const ssize_t got =
            ::read(descriptor, window.mutable_data() + filled, window.size() - filled);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return last_system_error();
        if (got == 0) break;
        filled += static_cast<std::size_t>(got);
    }
    window.truncate(filled);
    return window;
}

}  // namespace

file_source::file_source(runtime& threads, const std::string& path, bool show_progress)
    : threads_(threads),
      descriptor_(checked_input(path)),
      size_(size_of(descriptor_)),
      progress_(path, size_, show_progress) {}

file_source::~file_source() { ::close(descriptor_); }

awaitable<result<buffer>> file_source::next() {
    auto read = [this] { return read_window(descriptor_); };
    auto window = co_await threads_.pool().run(std::move(read));
    if (window) progress_.add(window->size());
    co_return window;
}

}  // namespace cairn::program
