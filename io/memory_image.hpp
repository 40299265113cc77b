// The bytes of one file in memory, sparse: pages that nobody wrote cost nothing and read as zeros.
//
// A plain value; its owner guards it.
#pragma once

#include "runtime/bytes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

namespace cairn {

class memory_image {
public:
    std::uint64_t size() const noexcept { return size_; }

    // Fills `out` from `offset` and gives the count of bytes, fewer only at the end of the file.
    std::size_t read(std::uint64_t offset, mutable_byte_view out) const;
    // Grows the file where it ends before the bytes do.
    void write(std::uint64_t offset, byte_view bytes);
    // Cuts, or grows with zeros.
    void resize(std::uint64_t size_bytes);
    // Zeros, up to the end of the file at most.
    void clear(std::uint64_t offset, std::uint64_t size_bytes);

private:
    static constexpr std::size_t page_bytes = 4096;
    using page = std::array<std::byte, page_bytes>;

    std::uint64_t size_ = 0;
    std::map<std::uint64_t, page> pages_;  // by index; zeros from size_ on
};

}  // namespace cairn
