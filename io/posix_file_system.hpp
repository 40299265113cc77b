// Files of the operating system: everything that the ring and the thread pool do alike.
//
// Cached bytes are read inline, without waiting (preadv2 with RWF_NOWAIT); what is cold, and every
// write and sync, is an operation that a derived class performs. Calls on names and sizes run on
// the runtime's blocking pool.
//
// The runtime outlives the file system, which outlives its files; operations under way keep their
// descriptor open themselves. All of it is safe from any thread and executor. Files and folders are
// made for their owner alone (0600, 0700).
#pragma once

#include "io/file.hpp"
#include "io/operation.hpp"
#include "runtime/runtime.hpp"

namespace cairn {

class posix_file_system : public file_system {
public:
    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override;
    awaitable<result<void>> remove(std::filesystem::path path) override;
    awaitable<result<void>> rename(std::filesystem::path from, std::filesystem::path to) override;
    awaitable<result<void>> make_directory(std::filesystem::path path) override;
    awaitable<result<void>> sync_directory(std::filesystem::path path) override;
    awaitable<result<std::vector<std::string>>> list(std::filesystem::path path) override;
    awaitable<result<disk_space>> space(std::filesystem::path path) override;

    // Makes the operation's calls until it is finished and gives it back. Once begun it completes.
    virtual awaitable<operation> perform(operation work) = 0;

    blocking_pool& pool() noexcept { return runtime_.pool(); }

protected:
    explicit posix_file_system(runtime& on) : runtime_(on) {}

private:
    runtime& runtime_;
};

}  // namespace cairn
