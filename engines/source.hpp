// Bytes on their way: a request body, a stored blob, another store's answer.
//
// One coroutine at a time reads a source, to its end or not at all. What it refers to (a
// connection, a file) it keeps alive itself or says who does.
#pragma once

#include "io/file.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/bytes.hpp"
#include "runtime/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace cairn {

// The unit in which bodies move and in which stored bytes are checked.
inline constexpr std::size_t window_bytes = 64 << 10;

// Verified bytes that lie in a file, for sendfile. Holding it keeps the descriptor open, and the
// bytes with it, also when the file is unlinked meanwhile.
struct file_range {
    std::shared_ptr<cairn::file> in;
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
};

class source {
public:
    virtual ~source() = default;

    // Bytes from its beginning to its end; unknown for a chunked upload.
    virtual std::optional<std::uint64_t> size() const = 0;

    // The next window: 1 to window_bytes bytes, empty at the end. An error ends the source; what
    // came before it must not be taken for the whole. How cancellation ends it is said where it is
    // made.
    virtual awaitable<result<buffer>> next() = 0;

    // All that next() has not given yet, when it lies verified in a file.
    virtual std::optional<file_range> file() const { return std::nullopt; }
};

// Bytes that are in memory already.
class buffer_source final : public source {
public:
    explicit buffer_source(buffer bytes) : rest_(std::move(bytes)), size_(rest_.size()) {}

    std::optional<std::uint64_t> size() const override { return size_; }
    awaitable<result<buffer>> next() override {
        const std::size_t count = rest_.size() < window_bytes ? rest_.size() : window_bytes;
        buffer window = rest_.slice(0, count);
        rest_ = rest_.slice(count, rest_.size() - count);
        co_return window;
    }
    // The rest in one piece: for senders that need no windows.
    const buffer& rest() const noexcept { return rest_; }

private:
    buffer rest_;
    const std::uint64_t size_;
};

}  // namespace cairn
