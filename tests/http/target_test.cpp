#include "http/target.hpp"

#include <doctest/doctest.h>
#include <string>

namespace cairn {

TEST_CASE("target: path and query are told apart, and the path is decoded once") {
    const auto plain = parse_target("/blobs?limit=5&after=");
    REQUIRE(plain);
    CHECK(plain->path == "/blobs");
    CHECK(plain->query == "limit=5&after=");
    CHECK_FALSE(plain->authority);
    CHECK(parse_target("/blobs/sha256%3Aab")->path == "/blobs/sha256:ab");
    CHECK(parse_target("/a%2525")->path == "/a%25");
    CHECK(parse_target("/a?b=%zz")->path == "/a");
    CHECK(parse_target("*")->path == "*");
}

TEST_CASE("target: an absolute form gives its authority, with or without a path") {
    const auto full = parse_target("http://example.org:80/blobs?x");
    REQUIRE(full);
    CHECK(full->path == "/blobs");
    CHECK(full->authority == "example.org:80");
    CHECK(full->query == "x");
    CHECK(parse_target("HTTP://h")->path == "/");
    CHECK(parse_target("http://h?q")->query == "q");
}

TEST_CASE("target: what hides a slash or a NUL, or does not decode, is malformed") {
    for (const char* text : {"", "blobs", "/a%2fb", "/a%2Fb", "/a%00", "/a%", "/a%4", "/a%zz",
                             "/a%-1", "/a#b", "ftp://h/", "**", "http:/x"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_target(text));
    }
}

TEST_CASE("target: spaces and control bytes have no place in one, whoever let them through") {
    using namespace std::string_view_literals;
    for (const std::string_view text : {"/a b"sv, "/a\0"sv, "/a\tb"sv, "/a\x7f"sv, "/a?b\n"sv}) {
        CHECK_FALSE(parse_target(text));
    }
}

TEST_CASE("target: query parameters are found by their whole name") {
    CHECK(query_parameter("limit=5&after=x", "limit") == "5");
    CHECK(query_parameter("limit=5&after=x", "after") == "x");
    CHECK_FALSE(query_parameter("limits=5", "limit"));
    CHECK_FALSE(query_parameter("", "limit"));
    CHECK(query_parameter("force", "force") == "");
    CHECK(query_parameter("a=1&a=2", "a") == "1");
    CHECK(query_parameter("a=%2F+b", "a") == "/+b");
    CHECK_FALSE(query_parameter("a=%0", "a"));
}

TEST_CASE("target: an id is 64 lower-case hex digits, alone or behind sha256:") {
    const std::string digits(64, 'a');
    REQUIRE(parse_blob_name(digits));
    CHECK(parse_blob_name(digits)->hex() == digits);
    CHECK(parse_blob_name("sha256:" + digits) == parse_blob_name(digits));
    for (const std::string& text :
         {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'),
          std::string(64, 'g'), "SHA256:" + digits, "sha256:" + std::string(63, 'a'),
          "sha1:" + digits, digits + "/", std::string("sha256:")}) {
        CAPTURE(text);
        CHECK_FALSE(parse_blob_name(text));
    }
}

}  // namespace cairn
