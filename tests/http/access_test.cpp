#include "http/access.hpp"

#include "http/endpoint.hpp"

#include <doctest/doctest.h>

namespace cairn {

TEST_CASE("access: addresses that only this machine reaches") {
    for (const char* address : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"})
        CHECK(is_loopback_address(address));
    for (const char* address :
         {"0.0.0.0", "::", "10.0.0.1", "1.127.0.0", "127.0.0.1.evil.example", "127.1", "::2", ""})
        CHECK_FALSE(is_loopback_address(address));
}

TEST_CASE("endpoint: hosts and ports are told apart") {
    CHECK(parse_host_port("127.0.0.1:80")->port == 80);
    CHECK(parse_host_port("[::1]:80")->host == "::1");
    CHECK(parse_host_port("[::1]:80")->text() == "[::1]:80");
    CHECK(parse_host_port("h", 7)->port == 7);
    CHECK(parse_host_port("[::1]", 7)->host == "::1");
    for (const char* text :
         {"", "h", ":80", "h:", "h:x", "h:65536", "h:-1", "[::1", "[::1]80", "::1:80"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_host_port(text));
    }
}

TEST_CASE("endpoint: a server is named by URL or by host") {
    CHECK(parse_server_url("http://h")->port == 80);
    CHECK(parse_server_url("http://h:1/")->port == 1);
    CHECK(parse_server_url("h")->port == cairn_port);
    CHECK(parse_server_url("h:9")->port == 9);
    for (const char* text :
         {"", "http://", "https://h", "http://h/x", "http://u@h", "ftp://h", "h:x"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_server_url(text));
    }
}

}  // namespace cairn
