// A file system and a file that hand every call on: what the mutants of the file seam are made of.
// Override the one call that shall lie.
#pragma once

#include "io/file.hpp"

#include <memory>
#include <utility>

namespace cairn::test {

class forwarding_file : public file {
public:
    explicit forwarding_file(std::shared_ptr<file> real) : real_(std::move(real)) {}

    awaitable<result<buffer>> read_at(std::uint64_t offset, std::size_t size_bytes) override {
        return real_->read_at(offset, size_bytes);
    }
    std::optional<buffer> try_read_at(std::uint64_t offset, std::size_t size_bytes) override {
        return real_->try_read_at(offset, size_bytes);
    }
    awaitable<result<void>> write_at(std::uint64_t offset, buffer bytes) override {
        return real_->write_at(offset, std::move(bytes));
    }
    awaitable<result<void>> sync() override { return real_->sync(); }
    awaitable<result<void>> preallocate(std::uint64_t size_bytes) override {
        return real_->preallocate(size_bytes);
    }
    awaitable<result<void>> punch(std::uint64_t offset, std::uint64_t size_bytes) override {
        return real_->punch(offset, size_bytes);
    }
    awaitable<result<void>> truncate(std::uint64_t size_bytes) override {
        return real_->truncate(size_bytes);
    }
    awaitable<result<std::uint64_t>> size() override { return real_->size(); }
    int native_handle() const noexcept override { return real_->native_handle(); }

private:
    const std::shared_ptr<file> real_;
};

// The real one outlives it.
class forwarding_file_system : public file_system {
public:
    explicit forwarding_file_system(file_system& real) : real_(real) {}

    std::string name() const override { return real_.name(); }
    awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                  open_mode mode) override {
        return real_.open(std::move(path), mode);
    }
    awaitable<result<void>> remove(std::filesystem::path path) override {
        return real_.remove(std::move(path));
    }
    awaitable<result<void>> rename(std::filesystem::path from, std::filesystem::path to) override {
        return real_.rename(std::move(from), std::move(to));
    }
    awaitable<result<void>> make_directory(std::filesystem::path path) override {
        return real_.make_directory(std::move(path));
    }
    awaitable<result<void>> sync_directory(std::filesystem::path path) override {
        return real_.sync_directory(std::move(path));
    }
    awaitable<result<std::vector<std::string>>> list(std::filesystem::path path) override {
        return real_.list(std::move(path));
    }
    awaitable<result<std::uint64_t>> free_space(std::filesystem::path path) override {
        return real_.free_space(std::move(path));
    }

private:
    file_system& real_;
};

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
        awaitable<result<void>> sync() override { co_return result<void>(); }
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
