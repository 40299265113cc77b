#include "tests/support/faulty_files.hpp"

#include "tests/support/forwarding_files.hpp"

#include <algorithm>
#include <cerrno>
#include <unistd.h>
#include <utility>

namespace cairn::test {
namespace {

file_call call_of(operation::kind kind) noexcept {
    switch (kind) {
        case operation::kind::read: return file_call::read;
        case operation::kind::write: return file_call::write;
        case operation::kind::sync: return file_call::sync;
    }
    return file_call::sync;
}

int make_real_call(operation& work, std::size_t size_bytes) {
    ssize_t answer = -1;
    const auto offset = static_cast<off_t>(work.offset());
    switch (work.what()) {
        case operation::kind::read:
            answer = ::pread(work.descriptor(), work.data(), size_bytes, offset);
            break;
        case operation::kind::write:
            answer = ::pwrite(work.descriptor(), work.data(), size_bytes, offset);
            break;
        case operation::kind::sync: answer = 0; break;  // no power is lost here
    }
    return answer < 0 ? -errno : static_cast<int>(answer);
}

int make_next_call(operation& work, fault_plan& plan) {
    const auto due = plan.next(call_of(work.what()));
    if (!due) return make_real_call(work, work.size());
    if (*due != fault_kind::short_transfer) return -error_number_of(*due);
    return make_real_call(work, std::max<std::size_t>(1, work.size() / 2));
}

class faulty_file final : public forwarding_file {
public:
    faulty_file(faulty_files& owner, std::shared_ptr<file> real, fault_plan& plan)
        : forwarding_file(real), owner_(owner), real_(std::move(real)), plan_(plan) {}

    awaitable<result<buffer>> read_at(std::uint64_t offset, std::size_t size_bytes) override {
        auto work = operation::read(real_, native_handle(), offset, size_bytes);
        work = co_await owner_.perform(std::move(work));
        co_return std::move(work).bytes();
    }
    std::optional<buffer> try_read_at(std::uint64_t offset, std::size_t size_bytes) override {
        if (plan_.next(file_call::try_read)) return std::nullopt;
        return forwarding_file::try_read_at(offset, size_bytes);
    }
    awaitable<result<void>> preallocate(std::uint64_t size_bytes) override {
        if (auto ok = plan_.admit(file_call::preallocate); !ok) co_return ok.error();
        co_return co_await forwarding_file::preallocate(size_bytes);
    }
    awaitable<result<void>> punch(std::uint64_t offset, std::uint64_t size_bytes) override {
        if (auto ok = plan_.admit(file_call::punch); !ok) co_return ok.error();
        co_return co_await forwarding_file::punch(offset, size_bytes);
    }
    awaitable<result<void>> truncate(std::uint64_t size_bytes) override {
        if (auto ok = plan_.admit(file_call::truncate); !ok) co_return ok.error();
        co_return co_await forwarding_file::truncate(size_bytes);
    }
    awaitable<result<std::uint64_t>> size() override {
        if (auto ok = plan_.admit(file_call::size); !ok) co_return ok.error();
        co_return co_await forwarding_file::size();
    }

private:
    faulty_files& owner_;
    const std::shared_ptr<file> real_;
    fault_plan& plan_;
};

}  // namespace

awaitable<operation> faulty_files::perform(operation work) {
    auto call = [this, work = std::move(work)]() mutable {
        while (!work.finished()) work.advance(make_next_call(work, plan_));
        return std::move(work);
    };
    return pool().run(std::move(call));
}

awaitable<result<std::shared_ptr<file>>> faulty_files::open(std::filesystem::path path,
                                                            open_mode mode) {
    if (auto ok = plan_.admit(file_call::open); !ok) co_return ok.error();
    auto real = co_await posix_file_system::open(std::move(path), mode);
    if (!real) co_return real.error();
    co_return std::make_shared<faulty_file>(*this, std::move(*real), plan_);
}

awaitable<result<void>> faulty_files::remove(std::filesystem::path path) {
    if (auto ok = plan_.admit(file_call::remove); !ok) co_return ok.error();
    co_return co_await posix_file_system::remove(std::move(path));
}

awaitable<result<void>> faulty_files::rename(std::filesystem::path from, std::filesystem::path to) {
    if (auto ok = plan_.admit(file_call::rename); !ok) co_return ok.error();
    co_return co_await posix_file_system::rename(std::move(from), std::move(to));
}

awaitable<result<void>> faulty_files::make_directory(std::filesystem::path path) {
    if (auto ok = plan_.admit(file_call::make_directory); !ok) co_return ok.error();
    co_return co_await posix_file_system::make_directory(std::move(path));
}

awaitable<result<void>> faulty_files::sync_directory(std::filesystem::path path) {
    if (auto ok = plan_.admit(file_call::sync_directory); !ok) co_return ok.error();
    co_return co_await posix_file_system::sync_directory(std::move(path));
}

awaitable<result<std::vector<std::string>>> faulty_files::list(std::filesystem::path path) {
    if (auto ok = plan_.admit(file_call::list); !ok) co_return ok.error();
    co_return co_await posix_file_system::list(std::move(path));
}

awaitable<result<disk_space>> faulty_files::space(std::filesystem::path path) {
    if (auto ok = plan_.admit(file_call::space); !ok) co_return ok.error();
    co_return co_await posix_file_system::space(std::move(path));
}

}  // namespace cairn::test
