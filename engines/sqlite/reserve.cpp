#include "engines/sqlite/reserve.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace cairn::sqlite {
namespace {

constexpr std::uint64_t most_bytes = 8 << 20;

std::uint64_t size_for(const std::filesystem::path& place) {
    struct statvfs about {};
    if (::statvfs(place.c_str(), &about) != 0) return most_bytes;
    return std::min(most_bytes, std::uint64_t{about.f_blocks} * about.f_frsize / 16);
}

bool is_full(int error_number) noexcept { return error_number == ENOSPC || error_number == EDQUOT; }

}  // namespace

reserve::reserve(const std::filesystem::path& catalog) : path_(catalog.string() + "-reserve") {
    ::unlink(path_.c_str());
}

bool reserve::take() {
    if (held_) return true;
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const auto size = static_cast<off_t>(size_for(path_.parent_path()));
    held_ = (file >= 0 && ::fallocate(file, 0, 0, size) == 0) || !is_full(errno);
    if (file >= 0) ::close(file);
    if (!held_) ::unlink(path_.c_str());
    return held_;
}

bool reserve::give_up() noexcept {
    const bool had = held_;
    held_ = false;
    if (had) ::unlink(path_.c_str());
    return had;
}

}  // namespace cairn::sqlite
