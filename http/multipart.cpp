#include "http/multipart.hpp"

#include <fmt/format.h>
#include <random>
#include <utility>

namespace cairn {

multipart_frame::multipart_frame(std::vector<byte_range> parts,
                                 std::uint64_t blob_bytes,
                                 std::string boundary)
    : parts_(std::move(parts)), blob_bytes_(blob_bytes), boundary_(std::move(boundary)) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        size_bytes_ += head(i).size() + parts_[i].size_bytes;
    }
    size_bytes_ += tail().size();
}

std::string multipart_frame::content_type() const {
    return "multipart/byteranges; boundary=" + boundary_;
}

std::string multipart_frame::head(std::size_t part) const {
    // The line break before a boundary belongs to the boundary, so the first part needs none.
    return fmt::format(
        "{}--{}\r\nContent-Type: application/octet-stream\r\nContent-Range: {}\r\n\r\n",
        part == 0 ? "" : "\r\n", boundary_, content_range(parts_[part], blob_bytes_));
}

std::string multipart_frame::tail() const { return "\r\n--" + boundary_ + "--\r\n"; }

std::string make_boundary() {
    thread_local std::random_device random;
    std::string boundary = "cairn-";
    for (int i = 0; i < 4; ++i) boundary += fmt::format("{:08x}", random());
    return boundary;
}

std::string content_range(byte_range part, std::uint64_t blob_bytes) {
    return fmt::format("bytes {}-{}/{}", part.offset, part.offset + part.size_bytes - 1,
                       blob_bytes);
}

}  // namespace cairn
