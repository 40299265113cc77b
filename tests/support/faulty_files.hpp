// Real files whose system calls fail when a plan says so: what a store meets on a dying disk.
//
// The faults come below the loop that repeats short and interrupted transfers, so that loop is
// tested too. Reads are never answered from memory inline: each makes its call. Syncs that do not
// fail answer at once and do nothing, since no power is lost.
#pragma once

#include "io/fault_plan.hpp"
#include "io/posix_file_system.hpp"

#include <memory>

namespace cairn::test {

class faulty_files final : public posix_file_system {
public:
    // Both outlive it and its files.
    faulty_files(runtime& on, fault_plan& plan) : posix_file_system(on), plan_(plan) {}

    std::string name() const override { return "a faulty disk"; }
    awaitable<operation> perform(operation work) override;
    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override;
    awaitable<result<void>> remove(std::filesystem::path path) override;
    awaitable<result<void>> rename(std::filesystem::path from, std::filesystem::path to) override;
    awaitable<result<void>> make_directory(std::filesystem::path path) override;
    awaitable<result<void>> sync_directory(std::filesystem::path path) override;
    awaitable<result<std::vector<std::string>>> list(std::filesystem::path path) override;
    awaitable<result<disk_space>> space(std::filesystem::path path) override;

private:
    fault_plan& plan_;
};

}  // namespace cairn::test
