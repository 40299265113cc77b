// The twin of a disk, in memory, for tests: it forgets what was not synced when the power fails,
// and it fails the calls that a plan says.
//
// Files and folders have two images, written and synced. What was done since the last sync is kept
// beside them, piece by piece; a name is durable after the sync of its folder, a folder after the
// sync of its parent. Transfers go in small pieces of an odd size, through the same loop as on real
// files. A sync that fails loses what it should have kept, as a kernel does: the next one succeeds
// without it.
//
// Any thread and executor. Files may outlive the file system.
#pragma once

#include "io/fault_plan.hpp"
#include "io/file.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace cairn {

class memory_disk;

class memory_file_system final : public file_system {
public:
    // A call moves at most `piece_bytes`. There is one folder, "/", which needs no sync.
    explicit memory_file_system(std::size_t piece_bytes = 4093);
    ~memory_file_system() override;

    std::string name() const override { return "memory"; }
    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override;
    awaitable<result<void>> remove(std::filesystem::path path) override;
    awaitable<result<void>> rename(std::filesystem::path from, std::filesystem::path to) override;
    awaitable<result<void>> make_directory(std::filesystem::path path) override;
    awaitable<result<void>> sync_directory(std::filesystem::path path) override;
    awaitable<result<std::vector<std::string>>> list(std::filesystem::path path) override;
    awaitable<result<disk_space>> space(std::filesystem::path path) override;

    // What space() answers from now on; it limits nothing (that is a fault's work).
    void set_space(disk_space bytes);

    fault_plan& plan() noexcept;

    // The power fails and comes back. What was not synced is gone; with a seed, each unsynced piece
    // of a write and each unsynced change of a name is kept or dropped by a coin of its own. Files
    // that were open answer EIO from now on; nothing is under way meanwhile that should come
    // through.
    void crash(std::optional<std::uint64_t> seed = {});

private:
    const std::shared_ptr<memory_disk> disk_;
};

}  // namespace cairn
