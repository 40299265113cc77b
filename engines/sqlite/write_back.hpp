// Brings what was appended to a file to the disk early and in the background, so that the next sync
// of it finds little to do and nobody waits long for it.
//
// Promises nothing: where it cannot be done, the sync does it all. A descriptor of its own, which
// may be closed at any time only because SQLite takes no locks on its write-ahead log itself. One
// thread.
#pragma once

#include <filesystem>

namespace cairn::sqlite {

class write_back {
public:
    write_back() = default;
    explicit write_back(const std::filesystem::path& of);
    write_back(write_back&& other) noexcept;
    write_back& operator=(write_back&& other) noexcept;
    ~write_back();

    // Does not wait for the disk.
    void begin() const noexcept;

private:
    int file_ = -1;
};

}  // namespace cairn::sqlite
