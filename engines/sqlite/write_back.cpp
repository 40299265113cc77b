#include "engines/sqlite/write_back.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace cairn::sqlite {

write_back::write_back(const std::filesystem::path& of)
    : file_(::open(of.c_str(), O_RDONLY | O_CLOEXEC)) {}

write_back::write_back(write_back&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

write_back& write_back::operator=(write_back&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
}

write_back::~write_back() {
    if (file_ >= 0) ::close(file_);
}

void write_back::begin() const noexcept {
    if (file_ >= 0) ::sync_file_range(file_, 0, 0, SYNC_FILE_RANGE_WRITE);
}

}  // namespace cairn::sqlite
