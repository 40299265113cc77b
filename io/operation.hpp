// One read, write or data sync while it happens: which system call comes next, and what to make of
// its answer.
//
// A machine without I/O. The ring, the pool and the memory twin make the calls, each in its own
// way; short transfers, EINTR, EAGAIN, the end of a file and the end of patience are understood
// here only:
//
//     made ──> next call ──> advance(answer) ──> ... ──> finished: bytes() or status()
//
// It owns its buffers and shares the ownership of its descriptor, so that whoever holds an
// operation may lend both to the kernel. One thread at a time.
#pragma once

#include "runtime/bytes.hpp"
#include "runtime/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/uio.h>
#include <vector>

namespace cairn {

class operation {
public:
    enum class kind : std::uint8_t { read, write, sync };

    // `owner` keeps the descriptor open; it is released with the operation. A twin without
    // descriptors passes -1.
    static operation read(std::shared_ptr<const void> owner,
                          int descriptor,
                          std::uint64_t offset,
                          std::size_t size_bytes);
    static operation write(std::shared_ptr<const void> owner,
                           int descriptor,
                           std::uint64_t offset,
                           std::vector<buffer> pieces);
    static operation sync(std::shared_ptr<const void> owner, int descriptor, byte_range written);

    bool finished() const noexcept { return finished_; }

    // The next call, while not finished: the rest of a piece, or of as many as one call takes. It
    // moves less than a system call's limit of 2 GiB.
    kind what() const noexcept { return kind_; }
    int descriptor() const noexcept { return descriptor_; }
    std::byte* data() noexcept { return pieces_[piece_].mutable_data() + piece_done_bytes_; }
    std::uint32_t size() const noexcept;  // 0 of a sync
    std::uint64_t offset() const noexcept { return offset_ + done_bytes_; }
    // The same places until advance(). More than one only where a write has pieces left.
    std::span<const iovec> vector();
    // Of a sync, which may reach further: to_end or more bytes than a call can name.
    byte_range range() const noexcept { return {offset_, sync_bytes_}; }

    // `answer` is what the call returned: a count of bytes, maybe of several pieces, or a negative
    // errno. EINTR and EAGAIN of a read or write mean the same call again, a bounded number of
    // times in a row. A sync has one call: whatever it answers is final (SAFETY.md R6).
    void advance(int answer);

    // What was read, shorter than asked where the file ended; or the error. Once, when finished.
    result<buffer> bytes() &&;
    // How a write or sync ended. When finished.
    result<void> status() const;

private:
    operation(kind what,
              std::shared_ptr<const void> owner,
              int descriptor,
              std::uint64_t offset,
              std::vector<buffer> pieces);

    void skip_done_pieces() noexcept;
    void finish_with(int error_number);

    std::shared_ptr<const void> owner_;
    std::vector<buffer> pieces_;
    std::vector<iovec> vector_;
    std::uint64_t offset_;
    std::uint64_t sync_bytes_ = 0;
    std::size_t done_bytes_ = 0;
    std::size_t piece_ = 0;  // the one that is under way, and how far
    std::size_t piece_done_bytes_ = 0;
    int descriptor_;
    int error_ = 0;  // errno; 0 while all is well
    std::uint16_t fruitless_calls_ = 0;
    kind kind_;
    bool finished_ = false;
};

}  // namespace cairn
