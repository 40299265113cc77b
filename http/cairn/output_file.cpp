#include "http/cairn/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace cairn::program {

output_file::output_file(std::string path) : path_(std::move(path)), descriptor_(STDOUT_FILENO) {
    if (path_ == "-") path_.clear();
    if (path_.empty()) return;
    partial_ = path_ + ".part-XXXXXX";
    descriptor_ = ::mkostemp(partial_.data(), O_CLOEXEC);
    if (descriptor_ < 0) throw std::system_error(errno, std::system_category(), path_);
    // As a file made in the plain way; mkostemp() makes one for the owner alone.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(descriptor_, 0666 & ~mask);
}

output_file::~output_file() {
    if (path_.empty()) return;
    ::close(descriptor_);
    if (!partial_.empty()) ::unlink(partial_.c_str());
}

result<void> output_file::write(byte_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return last_system_error();
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

result<void> output_file::commit() {
    if (path_.empty()) return {};
    if (std::rename(partial_.c_str(), path_.c_str()) != 0) return last_system_error();
    partial_.clear();
    return {};
}

}  // namespace cairn::program
