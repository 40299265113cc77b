#include "store/salvage.hpp"

#include "runtime/log.hpp"

#include <algorithm>
#include <boost/system/errc.hpp>
#include <cstddef>
#include <cstring>

namespace cairn {
namespace {

constexpr std::uint64_t block_bytes = 4096;

bool cannot_be_read(const error_code& why) noexcept { return why == boost::system::errc::io_error; }

}  // namespace

class salvage::salvaged_file final : public forwarding_file {
public:
    salvaged_file(std::shared_ptr<file> real, std::filesystem::path path, salvage& owner)
        : forwarding_file(std::move(real)), path_(std::move(path)), owner_(owner) {}

    awaitable<result<buffer>> read_at(std::uint64_t offset, std::size_t size_bytes) override {
        auto whole = co_await forwarding_file::read_at(offset, size_bytes);
        if (whole || !cannot_be_read(whole.error())) co_return whole;
        co_return co_await read_by_blocks(offset, size_bytes);
    }

private:
    awaitable<result<buffer>> read_by_blocks(std::uint64_t offset, std::size_t size_bytes) {
        const auto end = co_await size();
        if (!end) co_return end.error();
        const std::uint64_t there = std::max(*end, offset) - offset;
        buffer pieces = buffer::allocate(std::min<std::uint64_t>(size_bytes, there));
        for (std::uint64_t done = 0; done < pieces.size();) {
            const std::uint64_t at = offset + done;
            const std::uint64_t to_block_end = block_bytes - at % block_bytes;
            const std::size_t count = std::min<std::uint64_t>(to_block_end, pieces.size() - done);
            auto piece = co_await forwarding_file::read_at(at, count);
            if (!piece && !cannot_be_read(piece.error())) co_return piece.error();
            if (!piece) note(at - at % block_bytes);
            std::byte* const to = pieces.mutable_data() + done;
            std::memset(to, 0, count);
            if (piece) std::memcpy(to, piece->data(), std::min(count, piece->size()));
            done += count;
        }
        co_return pieces;
    }

    void note(std::uint64_t block) {
        auto& blocks = owner_.unreadable_[path_];
        if (blocks.empty()) {
            log_warn("rebuild", "{} cannot be read at {}: zeros, there and where else it cannot",
                     path_.string(), block);
        }
        blocks += boost::icl::interval<std::uint64_t>::right_open(block, block + block_bytes);
    }

    const std::filesystem::path path_;
    salvage& owner_;
};

awaitable<result<std::shared_ptr<file>>> salvage::open(std::filesystem::path path, open_mode mode) {
    auto real = co_await forwarding_file_system::open(path, mode);
    if (!real) co_return real;
    co_return std::make_shared<salvaged_file>(std::move(*real), std::move(path), *this);
}

std::uint64_t salvage::unreadable_bytes() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& [path, blocks] : unreadable_) sum += boost::icl::length(blocks);
    return sum;
}

}  // namespace cairn
