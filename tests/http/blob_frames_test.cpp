#include "http/blob_frames.hpp"

#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {
namespace {

struct read_frame {
    blob_frame frame;
    std::string bytes;
};

std::string framed(std::string_view bytes) {
    const blob_frame frame{blob_id::of(as_bytes(bytes)), bytes.size()};
    return std::string(as_text(frame.head())) + std::string(bytes);
}

void feed(blob_frame_decoder& machine, byte_view piece, std::vector<read_frame>& out) {
    while (!piece.empty()) {
        if (machine.data_bytes() == 0) {
            if (const auto begun = machine.eat(piece)) out.push_back({*begun, ""});
            continue;
        }
        const std::size_t count = std::min<std::uint64_t>(machine.data_bytes(), piece.size());
        out.back().bytes += as_text(piece.first(count));
        piece = piece.subspan(count);
        machine.moved(count);
    }
}

// An empty blob, an absent one, short and longer ones, an empty one at the end.
const std::vector<std::string> bodies{"", "a", std::string(40, 'b'), std::string(300, 'c'), ""};

std::string sample() {
    std::string text;
    for (const std::string& each : bodies) text += framed(each);
    return text + std::string(as_text(blob_frame{blob_id::of(as_bytes("gone"))}.head()));
}

void check_sample(const std::vector<read_frame>& read) {
    REQUIRE(read.size() == bodies.size() + 1);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
        CHECK(read[i].frame.id == blob_id::of(as_bytes(bodies[i])));
        CHECK_FALSE(read[i].frame.absent());
        CHECK(read[i].frame.size_bytes() == bodies[i].size());
        CHECK(read[i].bytes == bodies[i]);
    }
    CHECK(read.back().frame.absent());
    CHECK(read.back().frame.size_bytes() == 0);
    CHECK(read.back().frame.id == blob_id::of(as_bytes("gone")));
}

}  // namespace

TEST_CASE("frames: a head is the id, then the length with its most significant byte first") {
    blob_frame frame;
    for (std::size_t i = 0; i < 32; ++i) frame.id.bytes[i] = static_cast<std::byte>(i + 1);
    frame.length = 0x0102030405060708;
    const auto head = frame.head();
    std::string expected;
    for (int i = 1; i <= 32; ++i) expected += static_cast<char>(i);
    CHECK(as_text(head) == expected + "\1\2\3\4\5\6\7\10");
    CHECK(as_text(blob_frame{frame.id}.head()).substr(32) == std::string(8, '\xff'));
}

TEST_CASE("frames: what went in comes out, wherever the input is cut") {
    const std::string text = sample();
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        CAPTURE(cut);
        blob_frame_decoder machine;
        std::vector<read_frame> read;
        feed(machine, as_bytes(text).first(cut), read);
        CHECK(machine.offset() == cut);
        feed(machine, as_bytes(text).subspan(cut), read);
        check_sample(read);
        CHECK(machine.at_boundary());
        CHECK(machine.offset() == text.size());
    }
    blob_frame_decoder machine;
    std::vector<read_frame> read;
    for (const char& c : text) feed(machine, as_bytes(std::string_view(&c, 1)), read);
    check_sample(read);
}

TEST_CASE("frames: a body may end between two frames and nowhere else") {
    const std::string text = sample();
    std::vector<std::size_t> ends{0};
    for (const std::string& each : bodies) ends.push_back(ends.back() + 40 + each.size());
    ends.push_back(text.size());
    for (std::size_t size = 0; size <= text.size(); ++size) {
        CAPTURE(size);
        blob_frame_decoder machine;
        std::vector<read_frame> read;
        feed(machine, as_bytes(text).first(size), read);
        CHECK(machine.at_boundary() == (std::count(ends.begin(), ends.end(), size) > 0));
    }
}

TEST_CASE("frames: lengths have 64 bits, and only the last of them means absent") {
    for (const std::uint64_t length :
         {std::uint64_t{1} << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 63, UINT64_MAX - 1}) {
        const auto head = blob_frame{blob_id{}, length}.head();
        blob_frame_decoder machine;
        byte_view input = head;
        const auto frame = machine.eat(input);
        REQUIRE(frame.has_value());
        CHECK_FALSE(frame->absent());
        CHECK(machine.data_bytes() == length);
        machine.moved(length - 1);
        CHECK_FALSE(machine.at_boundary());
        machine.moved(1);
        CHECK(machine.at_boundary());
        CHECK(machine.offset() == 40 + length);
    }
}

}  // namespace cairn
