// A file system and a file that hand every call on: override the one that shall do something else.
#pragma once

#include "io/file.hpp"

#include <memory>
#include <utility>

namespace cairn {

class forwarding_file : public file {
public:
    explicit forwarding_file(std::shared_ptr<file> real) : real_(std::move(real)) {}

    awaitable<result<buffer>> read_at(std::uint64_t offset, std::size_t size_bytes) override {
        return real_->read_at(offset, size_bytes);
    }
    std::optional<buffer> try_read_at(std::uint64_t offset, std::size_t size_bytes) override {
        return real_->try_read_at(offset, size_bytes);
    }
    awaitable<result<void>> write_at(std::uint64_t offset, std::vector<buffer> pieces) override {
        return real_->write_at(offset, std::move(pieces));
    }
    awaitable<result<void>> sync(byte_range written) override { return real_->sync(written); }
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
    awaitable<result<disk_space>> space(std::filesystem::path path) override {
        return real_.space(std::move(path));
    }

private:
    file_system& real_;
};

}  // namespace cairn
