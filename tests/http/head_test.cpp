// Heads as raw bytes. Every refusal here closes its connection, so the first wrong byte is enough.
#include "http/head.hpp"

#include <doctest/doctest.h>
#include <string>
#include <string_view>

namespace cairn {
namespace {

struct outcome {
    int status = 0;  // 0: parsed
    bool complete = false;
};

// As a connection does it: scan, then parse.
outcome read(std::string_view bytes, request_head& head) {
    head_scanner scanner;
    const auto end = scanner.find_end(bytes);
    if (scanner.refusal()) return {scanner.refusal()->status, true};
    if (!end) return {};
    const auto refusal = head.parse(bytes.substr(0, *end));
    return {refusal ? refusal->status : 0, true};
}

int status_of(std::string_view bytes) {
    request_head head;
    const outcome got = read(bytes, head);
    CHECK(got.complete);
    return got.status;
}

std::string request(std::string_view fields, std::string_view line = "PUT /x HTTP/1.1") {
    return std::string(line) + "\r\nHost: h\r\n" + std::string(fields) + "\r\n";
}

}  // namespace

TEST_CASE("head: a plain request is read with its method, target, fields and framing") {
    const std::string bytes =
        "PUT /blobs/ab?x=1 HTTP/1.1\r\nHost: localhost:7480\r\nContent-Length: 12\r\n"
        "If-None-Match: \"a\"\r\nIf-None-Match:\t\"b\" \r\nX-Other: y\r\nRepr-Digest: "
        "d\r\n\r\nhello";
    request_head head;
    REQUIRE(read(bytes, head).status == 0);
    CHECK(head.method() == http_method::put);
    CHECK(head.method_text() == "PUT");
    CHECK(head.target() == "/blobs/ab?x=1");
    CHECK(head.framing() == body_framing::length);
    CHECK(head.content_length() == 12);
    CHECK(head.keeps_alive());
    CHECK(head.find(field_name::host) == "localhost:7480");
    CHECK(head.find(field_name::repr_digest) == "d");
    CHECK(head.joined(field_name::if_none_match) == "\"a\", \"b\"");
    CHECK_FALSE(head.find(field_name::range));
}

TEST_CASE("head: the end is found wherever the bytes are cut, and not before") {
    const std::string bytes = "\r\n" + request("A: b\r\n");
    head_scanner scanner;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        CHECK_FALSE(scanner.find_end(std::string_view(bytes).substr(0, size)));
        CHECK_FALSE(scanner.refusal());
    }
    CHECK(scanner.find_end(bytes + "more") == bytes.size());
    request_head head;
    CHECK_FALSE(head.parse(bytes));
    CHECK(head.target() == "/x");
}

TEST_CASE("head: parsing into a used head leaves nothing of the request before") {
    request_head head;
    REQUIRE(read(request("Content-Length: 5\r\nRange: bytes=0-1\r\n"), head).status == 0);
    REQUIRE(read(request("", "GET /y HTTP/1.0"), head).status == 0);
    CHECK(head.framing() == body_framing::none);
    CHECK(head.content_length() == 0);
    CHECK_FALSE(head.find(field_name::range));
    CHECK(head.is_http_1_0());
}

TEST_CASE("head: keep-alive follows the version and the Connection field") {
    request_head head;
    const auto keeps = [&](std::string_view line, std::string_view fields) {
        const std::string bytes = request(fields, line);  // the head refers to them
        REQUIRE(read(bytes, head).status == 0);
        return head.keeps_alive();
    };
    CHECK(keeps("GET / HTTP/1.1", ""));
    CHECK_FALSE(keeps("GET / HTTP/1.1", "Connection: close\r\n"));
    CHECK_FALSE(keeps("GET / HTTP/1.1", "Connection: Upgrade, Close\r\n"));
    CHECK_FALSE(keeps("GET / HTTP/1.0", ""));
    CHECK(keeps("GET / HTTP/1.0", "Connection: Keep-Alive\r\n"));
    CHECK_FALSE(keeps("GET / HTTP/1.0", "Connection: keep-alive\r\nConnection: close\r\n"));
    CHECK(keeps("GET / HTTP/1.1", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"));
}

TEST_CASE("head: a body framed in two ways, or in none that we know, is refused") {
    for (const char* fields : {
             "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
             "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
             "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
             "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
             "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
             "Transfer-Encoding: gzip, chunked\r\n",
             "Transfer-Encoding: chunked, gzip\r\n",
             "Transfer-Encoding: chunked, chunked\r\n",
             "Transfer-Encoding: gzip\r\n",
             "Transfer-Encoding: gzip\r\nContent-Length: 5\r\n",
             "Transfer-Encoding: identity\r\n",
             "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
             "Transfer-Encoding:\r\n",
             "Transfer-Encoding: \"chunked\"\r\n",
             "Transfer-Encoding: xchunked\r\n",
             "Transfer-Encoding: chunkedx\r\n",
             "Transfer-Encoding: chunked;q=1\r\n",
             "Transfer-Encoding: chunked,\r\n",
             "Transfer-Encoding: ,chunked\r\n",
             "Transfer-Encoding: \x0b"
             "chunked\r\n",
             "Transfer-Encoding : chunked\r\n",
             " Transfer-Encoding: chunked\r\n",
             "Transfer-Encoding\t: chunked\r\n",
             "X: y\r\n Transfer-Encoding: chunked\r\n",
             "Transfer-Encoding:\r\n chunked\r\n",
             "Content-Length: 5\r\nContent-Length: 5\r\n",
             "Content-Length: 5\r\nContent-Length: 6\r\n",
             "Content-Length: 5, 5\r\n",
             "Content-Length: 5, 6\r\n",
             "Content-Length: +5\r\n",
             "Content-Length: -5\r\n",
             "Content-Length: 0x5\r\n",
             "Content-Length: 5 5\r\n",
             "Content-Length: 5;x\r\n",
             "Content-Length: \"5\"\r\n",
             "Content-Length: five\r\n",
             "Content-Length: 5.0\r\n",
             "Content-Length:\r\n",
             "Content-Length: 18446744073709551616\r\n",
             "Content-Length: 99999999999999999999999\r\n",
             "Content-Length : 5\r\n",
             "Content-Length\r\n",
             "Content-Length: 1\r\n 2\r\n",
         }) {
        CAPTURE(fields);
        CHECK(status_of(request(fields)) == 400);
    }
    CHECK(status_of(request("Transfer-Encoding: chunked\r\n", "PUT /x HTTP/1.0")) == 400);
    CHECK(status_of(request("Transfer-Encoding: Chunked \r\n")) == 0);
    CHECK(status_of(request("Content-Length: 9223372036854775807\r\n")) == 0);
}

TEST_CASE("head: there is exactly one Host, and it looks like one") {
    CHECK(status_of("GET / HTTP/1.1\r\n\r\n") == 400);
    CHECK(status_of("GET / HTTP/1.0\r\n\r\n") == 0);
    CHECK(status_of(request("Host: h\r\n")) == 400);
    CHECK(status_of(request("host: other\r\n")) == 400);
    for (const char* host : {"a b", "a,b", "a/b", "a@b", "a?b", "a#b", "a\\b", "http://a"}) {
        CAPTURE(host);
        CHECK(status_of("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n") == 400);
    }
    for (const char* host :
         {"", "localhost", "127.0.0.1:80", "[::1]:80", "[fe80::1%25eth0]", "my_host"}) {
        CAPTURE(host);
        CHECK(status_of("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n") == 0);
    }
}

TEST_CASE("head: lines end in CRLF, and nothing folds them") {
    CHECK(status_of("GET / HTTP/1.1\nHost: h\r\n\r\n") == 400);
    CHECK(status_of("GET / HTTP/1.1\r\nHost: h\n\r\n") == 400);
    CHECK(status_of("GET / HTTP/1.1\r\nHost: h\r\n\n") == 400);
    CHECK(status_of("GET / HTTP/1.1\r\nHost: h\r\r\n\r\n") == 400);
    CHECK(status_of("GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n") == 400);
    CHECK(status_of("GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n") == 400);
    CHECK(status_of("GET / HTTP/1.1\r\nHost: h\r\n\tfolded\r\n\r\n") == 400);
    CHECK(status_of("GET / HTTP/1.1\r\n Host: h\r\n\r\n") == 400);
    CHECK(status_of("\n") == 400);
    CHECK(status_of("\r\n\r\n") == 400);
}

TEST_CASE(
    "head: request lines that are none are refused, the versions that we do not speak by name") {
    for (const char* line :
         {"GET /", "GET", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1",
          "GET / HTTP/1.1x", "GET / http/1.1", "G@T / HTTP/1.1", "GET /\x01 HTTP/1.1",
          "GET /a b HTTP/1.1", "GET / HTTP/11", "GET\t/ HTTP/1.1"}) {
        CAPTURE(line);
        const int status = status_of(request("", line));
        CHECK((status == 400 || status == 505));
    }
    CHECK(status_of("PRI * HTTP/2.0\r\n\r\n") == 505);
    CHECK(status_of(request("", "GET / HTTP/1.2")) == 505);
    CHECK(status_of(request("", "BREW /pot HTTP/1.1")) == 0);
    CHECK(status_of("\x16\x03\x01") == 400);
}

TEST_CASE("head: fields are tokens and text") {
    for (const char* fields :
         {"A b: c\r\n", "A: b\x01\r\n", ": empty\r\n", "A\r\n", "A: \x7f\r\n", "(A): b\r\n"}) {
        CAPTURE(fields);
        CHECK(status_of(request(fields)) == 400);
    }
    CHECK(status_of(request(std::string("A: b\0c\r\n", 8))) == 400);
    CHECK(status_of(request("A: \xc3\xa4\r\nB:\r\nC: \t x\t \r\n")) == 0);
}

TEST_CASE("head: what is too large is refused by its own status before it is complete") {
    CHECK(status_of("GET /" + std::string(target_bytes_max + 100, 'a')) == 414);
    CHECK(status_of(request("", "GET /" + std::string(target_bytes_max - 1, 'a') + " HTTP/1.1")) ==
          0);
    CHECK(status_of(request("", "GET /" + std::string(target_bytes_max, 'a') + " HTTP/1.1")) ==
          414);
    CHECK(status_of("GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(head_bytes_max, 'a')) == 431);
    CHECK(status_of(request("A: " + std::string(head_bytes_max, 'a') + "\r\n")) == 431);

    const std::string bare = request("A: \r\n");
    CHECK(status_of(request("A: " + std::string(head_bytes_max - bare.size(), 'a') + "\r\n")) == 0);
    CHECK(status_of(request("A: " + std::string(head_bytes_max - bare.size() + 1, 'a') + "\r\n")) ==
          431);

    std::string fields;
    for (std::size_t i = 0; i < head_fields_max - 1; ++i) fields += "A: b\r\n";
    CHECK(status_of(request(fields)) == 0);
    CHECK(status_of(request(fields + "A: b\r\n")) == 431);
}

}  // namespace cairn
