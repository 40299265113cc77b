// Mutants of the file seam: each has one call that lies.
#pragma once

#include "io/forwarding_files.hpp"

#include <memory>
#include <utility>

namespace cairn::test {

// Data syncs answer and do nothing: rows become durable before the bytes they point at (R1).
class unsynced_files final : public forwarding_file_system {
public:
    using forwarding_file_system::forwarding_file_system;

    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override {
        auto opened = co_await forwarding_file_system::open(std::move(path), mode);
        if (!opened) co_return opened.error();
        co_return std::make_shared<unsynced_file>(std::move(*opened));
    }

private:
    class unsynced_file final : public forwarding_file {
    public:
        using forwarding_file::forwarding_file;
        awaitable<result<void>> sync(byte_range) override { co_return result<void>(); }
    };
};

// Directory syncs answer and do nothing: a new segment's name is lost with its bytes (R1.2).
class unsynced_folders final : public forwarding_file_system {
public:
    using forwarding_file_system::forwarding_file_system;

    awaitable<result<void>> sync_directory(std::filesystem::path) override {
        co_return result<void>();
    }
};

}  // namespace cairn::test
