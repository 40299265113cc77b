// The folder of an embedded store: who owns it, and which catalog belongs to it.
//
//     DIR/lock          held by the one process that has the store open
//     DIR/folder        {"format":1,"catalog":"<incarnation>","boot":7}
//     DIR/catalog.db    with its -wal, -shm and -reserve: never touch them by hand
//     DIR/segments/     blobs over 4 KiB
//     DIR/backups/      copies of the catalog (store/backups.hpp)
#pragma once

#include "io/file.hpp"
#include "runtime/result.hpp"
#include "runtime/runtime.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

class folder {
public:
    // Makes the folder if it is not there, and locks it for this process until the object goes.
    // errc::already_locked; errc::weak_storage on tmpfs, NFS, SMB, 9p and FUSE, unless allowed:
    // then weak() says so. Errors are logged with the path and what a person can do.
    static awaitable<result<std::unique_ptr<folder>>> open(runtime& threads,
                                                           file_system& files,
                                                           std::filesystem::path path,
                                                           bool allow_weak_storage);
    ~folder();
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }
    std::filesystem::path catalog_path() const { return path_ / "catalog.db"; }
    std::filesystem::path segments_path() const { return path_ / "segments"; }
    bool weak() const noexcept { return weak_; }

    // The boot at which a catalog joined last; 0 before the first.
    awaitable<result<std::uint64_t>> last_boot();

    // Called with what the catalog says right after it raised its boot durably: remembers it,
    // durably (SAFETY.md, everywhere 7). errc::restored_copy when the catalog is behind the folder,
    // errc::incompatible when it is another folder's or this folder is of another format.
    awaitable<result<void>> join_catalog(std::string incarnation, std::uint64_t boot);

    // As join_catalog(), but only judges.
    awaitable<result<void>> expect_catalog(std::string incarnation, std::uint64_t boot);
    // From now on this catalog belongs here, durably, whatever was before: for a rebuilt one.
    awaitable<result<void>> take_catalog(std::string incarnation, std::uint64_t boot);

private:
    folder(file_system& files, std::filesystem::path path, int lock_descriptor, bool weak);

    struct marker;  // what the file `folder` says
    static std::string encode(const marker& mark);
    static result<marker> decode(std::string_view text);
    awaitable<result<std::optional<marker>>> read_marker();
    awaitable<result<void>> write_marker(std::string text);
    error_code not_ours() const;

    file_system& files_;
    const std::filesystem::path path_;
    const int lock_descriptor_;
    const bool weak_;
};

}  // namespace cairn
