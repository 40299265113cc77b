// The happy path first, then every way in which framing can lie; each case is also fed cut in two
// at every byte, because a machine that sees its input whole in tests sees it in pieces in life.
#include "http/chunked.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {
namespace {

struct decoded {
    std::string body;
    std::string rest;  // behind the end
    bool done = false;
    bool failed = false;
};

void feed(chunked_decoder& machine, std::string_view piece, decoded& out) {
    while (!piece.empty() && !machine.done() && !out.failed) {
        if (const std::uint64_t room = machine.data_bytes(); room > 0) {
            const std::size_t count = std::min<std::uint64_t>(room, piece.size());
            out.body += piece.substr(0, count);
            piece.remove_prefix(count);
            machine.moved(count);
            continue;
        }
        const auto eaten = machine.eat(piece);
        out.failed = eaten.has_error();
        if (eaten) piece.remove_prefix(*eaten);
    }
    out.done = machine.done();
    out.rest += piece;
}

decoded decode(std::string_view text, std::size_t cut) {
    chunked_decoder machine;
    decoded out;
    feed(machine, text.substr(0, cut), out);
    if (!out.failed) feed(machine, text.substr(cut), out);
    return out;
}

}  // namespace

TEST_CASE("chunked: bodies come out as they went in, wherever the input is cut") {
    struct example {
        std::string_view text, body, rest;
    };
    for (const example& each : {
             example{"0\r\n\r\n", "", ""},
             {"5\r\nhello\r\n0\r\n\r\n", "hello", ""},
             {"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nGET /", "hello world", "GET /"},
             {"A\r\n0123456789\r\n0\r\n\r\n", "0123456789", ""},
             {"a;name=value;other=\"x y\"\r\n0123456789\r\n000\r\n\r\n", "0123456789", ""},
             {"0000000000000000005\r\nhello\r\n0;last\r\nDigest: x\r\nContent-Length: 5\r\n\r\nz",
              "hello", "z"},
             {"4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", ""},
         }) {
        for (std::size_t cut = 0; cut <= each.text.size(); ++cut) {
            CAPTURE(each.text);
            CAPTURE(cut);
            const decoded got = decode(each.text, cut);
            CHECK_FALSE(got.failed);
            CHECK(got.done);
            CHECK(got.body == each.body);
            CHECK(got.rest == each.rest);
        }
    }
}

TEST_CASE("chunked: a body that is cut short is not done") {
    constexpr std::string_view text = "5;x\r\nhello\r\n0\r\nA: b\r\n\r\n";
    for (std::size_t size = 0; size < text.size(); ++size) {
        const decoded got = decode(text.substr(0, size), 0);
        CHECK_FALSE(got.failed);
        CHECK_FALSE(got.done);
    }
}

TEST_CASE("chunked: framing that lies is malformed") {
    for (const std::string_view text : {
             "\r\n",
             "g\r\n",
             "-1\r\n",
             "+5\r\nhello",
             "0x5\r\nhello",
             " 5\r\nhello",
             "5 \r\nhello",
             "5\nhello\r\n",
             "5\r\r\nhello",
             "5\rhello",
             ";x\r\n",
             "5\r\nhelloX\r\n",
             "5\r\nhello\n0\r\n\r\n",
             "5\r\nhello\rX",
             "5\r\nhello0\r\n\r\n",
             "5 ;x\r\nhello",
             "0\r\nA: b\n\r\n",
             "0\r\n\n",
             "0\r\n\rX",
             "5;x\x01\r\nhello",
             "0\r\nA\x7f: b\r\n\r\n",
             "10000000000000000\r\n",
             "fffffffffffffffff\r\n",
             "1 000\r\n",
             "5,\r\n",
         }) {
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            CAPTURE(text);
            CAPTURE(cut);
            CHECK(decode(text, cut).failed);
        }
    }
}

TEST_CASE("chunked: a size of 64 bits is taken, and none that needs more") {
    chunked_decoder machine;
    CHECK(machine.eat("ffffffffffffffff\r\n").has_value());
    CHECK(machine.data_bytes() == UINT64_MAX);
    machine.moved(UINT64_MAX - 1);
    CHECK(machine.data_bytes() == 1);
}

TEST_CASE("chunked: extensions and trailers end at their limit") {
    const std::string filler(chunked_decoder::framing_bytes_max, 'x');
    CHECK(decode("5;" + filler, 0).failed);
    CHECK(decode("0\r\nA: " + filler, 0).failed);
    std::string trailers = "0\r\n";
    while (trailers.size() <= chunked_decoder::framing_bytes_max) trailers += "A: b\r\n";
    CHECK(decode(trailers + "\r\n", 0).failed);

    const std::string near(chunked_decoder::framing_bytes_max - 100, 'x');
    CHECK(decode("1;" + near + "\r\na\r\n1;" + near + "\r\nb\r\n0\r\n\r\n", 0).body == "ab");
}

TEST_CASE("chunked: after an error the machine stays where it is") {
    chunked_decoder machine;
    CHECK(machine.eat("x").has_error());
    CHECK(machine.eat("5\r\n").has_error());
    CHECK_FALSE(machine.done());
}

}  // namespace cairn
