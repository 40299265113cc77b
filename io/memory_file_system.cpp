#include "io/memory_file_system.hpp"

#include "io/memory_disk.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace cairn {
namespace {

// One turn of the caller's loop, as a real disk would take: what relies on an answer without
// suspension shows in the tests.
awaitable<void> take_a_turn() { co_await asio::post(asio::use_awaitable); }

std::string name_of(const std::filesystem::path& path) {
    std::string name = (std::filesystem::path("/") / path).lexically_normal().string();
    if (name.size() > 1 && name.back() == '/') name.pop_back();
    return name;
}

operation run_to_end(memory_disk& disk, const inode_handle& of, operation work) {
    while (!work.finished()) work.advance(disk.make_next_call(of, work));
    return work;
}

class memory_file final : public file {
public:
    memory_file(std::shared_ptr<memory_disk> disk, inode_handle opened)
        : disk_(std::move(disk)), opened_(std::move(opened)) {}

    awaitable<result<buffer>> read_at(std::uint64_t offset, std::size_t size_bytes) override {
        auto done = run_to_end(*disk_, opened_, operation::read(nullptr, -1, offset, size_bytes));
        co_return std::move(done).bytes();
    }

    std::optional<buffer> try_read_at(std::uint64_t offset, std::size_t size_bytes) override {
        if (!disk_->cached(opened_)) return std::nullopt;
        auto done = run_to_end(*disk_, opened_, operation::read(nullptr, -1, offset, size_bytes));
        auto bytes = std::move(done).bytes();
        if (!bytes) return std::nullopt;
        return std::move(*bytes);
    }

    awaitable<result<void>> write_at(std::uint64_t offset, std::vector<buffer> pieces) override {
        return run_later(disk_, opened_, operation::write(nullptr, -1, offset, std::move(pieces)));
    }

    awaitable<result<void>> sync(byte_range written) override {
        return run_later(disk_, opened_, operation::sync(nullptr, -1, written));
    }

    awaitable<result<void>> preallocate(std::uint64_t size_bytes) override {
        image_change wanted;
        wanted.what = image_change::kind::resize;
        wanted.size_bytes = size_bytes;
        return change_later(disk_, opened_, file_call::preallocate, std::move(wanted));
    }

    awaitable<result<void>> punch(std::uint64_t offset, std::uint64_t size_bytes) override {
        image_change wanted;
        wanted.what = image_change::kind::clear;
        wanted.offset = offset;
        wanted.size_bytes = size_bytes;
        return change_later(disk_, opened_, file_call::punch, std::move(wanted));
    }

    awaitable<result<void>> truncate(std::uint64_t size_bytes) override {
        image_change wanted;
        wanted.what = image_change::kind::resize;
        wanted.size_bytes = size_bytes;
        return change_later(disk_, opened_, file_call::truncate, std::move(wanted));
    }

    awaitable<result<std::uint64_t>> size() override { co_return disk_->size(opened_); }

    int native_handle() const noexcept override { return -1; }

private:
    // Static, with what they use by value: the file may go while they wait.
    static awaitable<result<void>> run_later(std::shared_ptr<memory_disk> disk,
                                             inode_handle of,
                                             operation work) {
        co_await take_a_turn();
        co_return run_to_end(*disk, of, std::move(work)).status();
    }

    static awaitable<result<void>> change_later(std::shared_ptr<memory_disk> disk,
                                                inode_handle of,
                                                file_call call,
                                                image_change wanted) {
        co_await take_a_turn();
        co_return disk->change(of, call, std::move(wanted));
    }

    const std::shared_ptr<memory_disk> disk_;
    const inode_handle opened_;
};

}  // namespace

memory_file_system::memory_file_system(std::size_t piece_bytes)
    : disk_(std::make_shared<memory_disk>(piece_bytes)) {}

memory_file_system::~memory_file_system() = default;

awaitable<result<std::shared_ptr<file>>> memory_file_system::open(std::filesystem::path path,
                                                                  open_mode mode) {
    co_await take_a_turn();
    auto opened = disk_->open(name_of(path), mode);
    if (!opened) co_return opened.error();
    co_return std::make_shared<memory_file>(disk_, std::move(*opened));
}

awaitable<result<void>> memory_file_system::remove(std::filesystem::path path) {
    co_await take_a_turn();
    co_return disk_->remove(name_of(path));
}

awaitable<result<void>> memory_file_system::rename(std::filesystem::path from,
                                                   std::filesystem::path to) {
    co_await take_a_turn();
    co_return disk_->rename(name_of(from), name_of(to));
}

awaitable<result<void>> memory_file_system::make_directory(std::filesystem::path path) {
    co_await take_a_turn();
    co_return disk_->make_folder(name_of(path));
}

awaitable<result<void>> memory_file_system::sync_directory(std::filesystem::path path) {
    co_await take_a_turn();
    co_return disk_->sync_folder(name_of(path));
}

awaitable<result<std::vector<std::string>>> memory_file_system::list(std::filesystem::path path) {
    co_await take_a_turn();
    co_return disk_->list(name_of(path));
}

awaitable<result<disk_space>> memory_file_system::space(std::filesystem::path) {
    co_await take_a_turn();
    co_return disk_->space();
}

void memory_file_system::set_space(disk_space bytes) { disk_->set_space(bytes); }

fault_plan& memory_file_system::plan() noexcept { return disk_->plan(); }

void memory_file_system::crash(std::optional<std::uint64_t> seed) { disk_->crash(seed); }

}  // namespace cairn
