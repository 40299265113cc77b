// What lies behind memory_file_system: inodes, names, and what of both is not synced yet.
//
// Private to the twin. Every member takes the lock itself; any thread. Calls answer as system calls
// do: 0 or a count, or a negative errno.
#pragma once

#include "io/fault_plan.hpp"
#include "io/file.hpp"
#include "io/memory_image.hpp"
#include "io/operation.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cairn {

// A change of one file's bytes that is not synced yet.
struct image_change {
    enum class kind : std::uint8_t { write, resize, clear };
    kind what = kind::write;
    std::uint64_t offset = 0;      // of write, clear
    std::uint64_t size_bytes = 0;  // of resize, clear
    buffer bytes;                  // of write
};

void apply(const image_change& change, memory_image& to);

struct inode {
    bool is_folder = false;
    memory_image written;
    memory_image synced;
    std::vector<image_change> unsynced;
};

// A file as one boot of the disk opened it.
struct inode_handle {
    std::shared_ptr<inode> node;
    std::uint64_t boot = 0;
    bool writable = false;
};

class memory_disk {
public:
    explicit memory_disk(std::size_t piece_bytes);

    fault_plan& plan() noexcept { return plan_; }

    // One piece of a transfer, or one sync.
    int make_next_call(const inode_handle& of, operation& work);
    result<void> change(const inode_handle& of, file_call call, image_change wanted);
    result<std::uint64_t> size(const inode_handle& of);
    bool cached(const inode_handle& of);

    result<inode_handle> open(const std::string& path, open_mode mode);
    result<void> remove(const std::string& path);
    result<void> rename(const std::string& from, const std::string& to);
    result<void> make_folder(const std::string& path);
    result<void> sync_folder(const std::string& path);
    result<std::vector<std::string>> list(const std::string& path);
    result<disk_space> space();
    void set_space(disk_space bytes);

    void crash(std::optional<std::uint64_t> seed);

private:
    // Names by their whole path, so that a folder comes before what is in it.
    using name_map = std::map<std::string, std::shared_ptr<inode>>;

    // A change of one name that is not synced yet; those of one call share its number.
    struct name_change {
        std::uint64_t call = 0;
        std::string path;
        std::shared_ptr<inode> node;  // null: removed
    };

    std::shared_ptr<inode> find(const std::string& path) const;
    bool has_folder(const std::string& path) const;
    void set_name(const std::string& path, std::shared_ptr<inode> node);
    static void apply(const name_change& change, name_map& to);

    const std::size_t piece_bytes_;
    fault_plan plan_;
    std::mutex mutex_;
    std::uint64_t boot_ = 0;
    std::uint64_t calls_ = 0;
    disk_space space_{std::uint64_t{1} << 40, std::uint64_t{1} << 40};
    name_map names_;
    name_map synced_names_;
    std::vector<name_change> unsynced_names_;
};

}  // namespace cairn
