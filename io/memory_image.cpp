#include "io/memory_image.hpp"

#include <algorithm>
#include <cstring>

namespace cairn {

std::size_t memory_image::read(std::uint64_t offset, mutable_byte_view out) const {
    if (offset >= size_) return 0;
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
    for (std::size_t done = 0; done < count;) {
        const std::uint64_t at = offset + done;
        const std::size_t within = at % page_bytes;
        const std::size_t piece = std::min(page_bytes - within, count - done);
        const auto found = pages_.find(at / page_bytes);
        if (found == pages_.end())
            std::memset(out.data() + done, 0, piece);
        else
            std::memcpy(out.data() + done, found->second.data() + within, piece);
        done += piece;
    }
    return count;
}

void memory_image::write(std::uint64_t offset, byte_view bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
        const std::uint64_t at = offset + done;
        const std::size_t within = at % page_bytes;
        const std::size_t piece = std::min(page_bytes - within, bytes.size() - done);
        std::memcpy(pages_[at / page_bytes].data() + within, bytes.data() + done, piece);
        done += piece;
    }
    if (!bytes.empty()) size_ = std::max(size_, offset + bytes.size());
}

void memory_image::resize(std::uint64_t size_bytes) {
    if (size_bytes < size_) clear(size_bytes, size_ - size_bytes);
    size_ = size_bytes;
}

void memory_image::clear(std::uint64_t offset, std::uint64_t size_bytes) {
    if (offset >= size_) return;
    const std::uint64_t end = offset + std::min(size_bytes, size_ - offset);
    auto each = pages_.lower_bound(offset / page_bytes);
    while (each != pages_.end() && each->first * page_bytes < end) {
        const std::uint64_t start = each->first * page_bytes;
        const std::uint64_t from = std::max(offset, start);
        const std::uint64_t to = std::min(end, start + page_bytes);
        if (to - from == page_bytes) {
            each = pages_.erase(each);
            continue;
        }
        std::memset(each->second.data() + (from - start), 0, to - from);
        ++each;
    }
}

}  // namespace cairn
