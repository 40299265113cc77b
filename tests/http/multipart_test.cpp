#include "http/multipart.hpp"

#include <doctest/doctest.h>
#include <set>
#include <string>

namespace cairn {
namespace {

std::string body_of(const multipart_frame& frame, std::string_view blob) {
    std::string body;
    for (std::size_t i = 0; i < frame.parts().size(); ++i) {
        body += frame.head(i);
        body += blob.substr(frame.parts()[i].offset, frame.parts()[i].size_bytes);
    }
    return body + frame.tail();
}

}  // namespace

TEST_CASE("multipart: two parts look as the RFC shows them") {
    const multipart_frame frame({{0, 2}, {5, 3}}, 10, "THIS");
    CHECK(frame.content_type() == "multipart/byteranges; boundary=THIS");
    CHECK(
        body_of(frame, "0123456789") ==
        "--THIS\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes 0-1/10\r\n\r\n01"
        "\r\n--THIS\r\nContent-Type: application/octet-stream\r\n"
        "Content-Range: bytes 5-7/10\r\n\r\n567"
        "\r\n--THIS--\r\n");
}

TEST_CASE("multipart: the announced length is the length") {
    const std::string blob(100'000, 'x');
    for (std::size_t count = 2; count <= 64; ++count) {
        std::vector<byte_range> parts;
        for (std::size_t i = 0; i < count; ++i) parts.push_back({i * 1000, i + 1});
        const multipart_frame frame(parts, blob.size(), make_boundary());
        CHECK(body_of(frame, blob).size() == frame.size_bytes());
    }
}

TEST_CASE("multipart: lengths beyond 32 bits add up") {
    const multipart_frame frame({{0, 1ULL << 40}, {1ULL << 41, 1ULL << 40}}, 1ULL << 42, "b");
    CHECK(frame.size_bytes() ==
          (2ULL << 40) + frame.head(0).size() + frame.head(1).size() + frame.tail().size());
}

TEST_CASE("multipart: no two boundaries are alike") {
    std::set<std::string> seen;
    for (int i = 0; i < 1000; ++i) seen.insert(make_boundary());
    CHECK(seen.size() == 1000);
}

}  // namespace cairn
