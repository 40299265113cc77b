// Connections as bytes: pipelining, cuts at every byte, old versions, names and pages that are kept
// out. The table of single requests is raw_vectors.
#include "tests/http/served.hpp"

#include <chrono>
#include <doctest/doctest.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace cairn::test {
namespace {

// A request that hides in a body.
constexpr const char* hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ";

}  // namespace

TEST_CASE("smuggling: a request in a body stays a body") {
    served here;
    http_client client = here.connect();
    const std::string body = std::string(hidden) + "\r\n\r\n";
    CHECK(client.put(path_of(body), body).status == 201);
    CHECK(client.get(path_of(body)).body == body);
}

TEST_CASE("heads: what is malformed or too large is answered by its own status and closed") {
    served here;
    const auto status = [&](const std::string& bytes) {
        http_client client = here.connect();
        client.send_raw(bytes);
        const http_response answer = client.receive();
        CHECK(answer.header("connection") == "close");
        CHECK(answer.header("content-type") == "application/problem+json");
        CHECK(client.closed_by_peer());
        return answer.status;
    };
    CHECK(status("GET / HTTP/1.1\r\n\r\n") == 400);
    CHECK(status("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n") == 400);
    CHECK(status("GET / HTTP/1.1\nHost: a\n\n") == 400);
    CHECK(status("nonsense\r\n\r\n") == 400);
    CHECK(status("\x16\x03\x01\x02") == 400);
    CHECK(status("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == 505);
    CHECK(status("GET /" + std::string(9000, 'a')) == 414);
    CHECK(status("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(17'000, 'a')) == 431);
    std::string fields;
    for (int i = 0; i < 101; ++i) fields += "A: b\r\n";
    CHECK(status("GET / HTTP/1.1\r\n" + fields + "\r\n") == 431);
}

TEST_CASE("pipelining: requests are answered in order, however they are cut") {
    served here;
    const std::string bytes = numbered_bytes(3000);
    const std::string exchange =
        "PUT " + path_of(bytes) + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000\r\n\r\n" +
        bytes + "GET " + path_of(bytes) + " HTTP/1.1\r\nHost: localhost\r\n\r\n" + "\r\nHEAD " +
        path_of(bytes) + " HTTP/1.1\r\nHost: localhost\r\n\r\n" +
        "GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" + "DELETE " + path_of(bytes) +
        " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}, exchange.size()}) {
        CAPTURE(piece);
        http_client client = here.connect();
        std::thread sender([&] {
            for (std::size_t at = 0; at < exchange.size(); at += piece)
                client.send_raw(std::string_view(exchange).substr(at, piece));
        });
        CHECK(client.receive().status == 201);
        CHECK(client.receive().body == bytes);
        CHECK(client.receive(true).header("content-length") == "3000");
        CHECK(client.receive().status == 404);
        CHECK(client.receive().status == 204);
        sender.join();
    }
}

TEST_CASE("pipelining: hundreds at once are all answered, more than a buffer holds") {
    served here;
    const std::string bytes = numbered_bytes(1000);
    const blob_id id = here.keep(bytes);
    const int count = 2000;
    const std::string request = "GET " + path_of(id) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    http_client client = here.connect();
    std::thread sender([&] {
        std::string all;
        for (int i = 0; i < count; ++i) all += request;
        client.send_raw(all);
    });
    for (int i = 0; i < count; ++i) REQUIRE(client.receive().body == bytes);
    sender.join();
}

TEST_CASE("cuts: a chunked PUT is understood wherever the network cuts it") {
    served here;
    const std::string body = "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nA: b\r\n\r\n";
    const std::string request =
        "PUT " + path_of("hello world") +
        " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
    http_client client = here.connect();
    for (std::size_t cut = 1; cut < request.size(); ++cut) {
        client.send_raw(std::string_view(request).substr(0, cut));
        // Not a promise that two reads happen, but on loopback nearly always so.
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        client.send_raw(std::string_view(request).substr(cut));
        const int status = client.receive().status;
        CAPTURE(cut);
        CHECK((status == 201 || status == 200));
    }
}

TEST_CASE("HTTP/1.0: is answered and closed, kept when asked, and needs no Host") {
    served here;
    const std::string bytes = numbered_bytes(100'000);
    const blob_id id = here.keep(bytes);
    {
        http_client client = here.connect();
        client.send_raw("GET " + path_of(id) + " HTTP/1.0\r\n\r\n");
        const http_response answer = client.receive();
        CHECK(answer.status == 200);
        CHECK(answer.body == bytes);
        CHECK(answer.header("connection") == "close");
        CHECK(client.closed_by_peer());
    }
    http_client client = here.connect();
    for (int i = 0; i < 3; ++i) {
        client.send_raw("GET " + path_of(id) +
                        " HTTP/1.0\r\nConnection: keep-alive\r\nRange: bytes=0-1,500-501\r\n\r\n");
        const http_response answer = client.receive();
        CHECK(answer.status == 206);
        CHECK(answer.header("connection") == "keep-alive");
        CHECK(answer.count("transfer-encoding") == 0);
    }
}

TEST_CASE("connections: close is honoured, Upgrade is ignored, an absolute target is understood") {
    served here;
    {
        http_client client = here.connect();
        client.send_raw("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        CHECK(client.receive().header("connection") == "close");
        CHECK(client.closed_by_peer());
    }
    http_client client = here.connect();
    const http_response plain = client.get("/healthz", {{"Connection", "Upgrade, HTTP2-Settings"},
                                                        {"Upgrade", "h2c"},
                                                        {"HTTP2-Settings", "AAMAAABkAAQAAP__"}});
    CHECK(plain.status == 200);
    CHECK(client.get("http://localhost/healthz").body == "ok\n");
    CHECK(client.get("http://localhost:1/healthz?x").body == "ok\n");
}

TEST_CASE("loopback: other names, and pages of other sites, are kept out") {
    served here;
    http_client client = here.connect();
    const auto status = [&](const std::string& method, const std::string& host,
                            const std::string& more) {
        client.send_raw(method + " " + path_of("x") + " HTTP/1.1\r\nHost: " + host + "\r\n" + more +
                        "Content-Length: 1\r\n\r\nx");
        return client.receive().status;
    };
    for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.2:9", "[::1]:7"}) {
        CAPTURE(host);
        CHECK(status("PUT", host, "") < 300);
    }
    for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                             "10.0.0.1", "", "[::2]"}) {
        CAPTURE(host);
        CHECK(status("PUT", host, "") == 403);
        CHECK(status("GET", host, "") == 403);
    }
    CHECK(client.get("http://evil.example/healthz").status == 403);
    CHECK(status("PUT", "localhost:7", "Origin: http://localhost:7\r\n") == 200);
    CHECK(status("PUT", "localhost:7", "Origin: http://localhost:8\r\n") == 403);
    CHECK(status("DELETE", "localhost", "Origin: https://evil.example\r\n") == 403);
    CHECK(status("POST", "localhost", "Origin: null\r\n") == 403);
    CHECK(status("GET", "localhost", "Origin: https://evil.example\r\n") == 200);
}

TEST_CASE("CORS: says nothing unless told, then what a page may read") {
    {
        served here;
        const http_response answer =
            here.connect().get("/healthz", {{"Origin", "https://app.example"}});
        CHECK(answer.count("access-control-allow-origin") == 0);
    }
    for (const std::string allowed : {"https://app.example", "*"}) {
        CAPTURE(allowed);
        http_settings settings = quick_settings();
        settings.cors_origin = allowed;
        served here(settings);
        http_client client = here.connect();
        const http_response answer = client.get("/healthz", {{"Origin", "https://app.example"}});
        CHECK(answer.header("access-control-allow-origin") == allowed);
        CHECK(answer.header("access-control-expose-headers") ==
              "Content-Range, Content-Length, ETag, Accept-Ranges, Repr-Digest");
        CHECK(client.put(path_of("x"), "x", {{"Origin", "https://app.example"}}).status < 300);
        const http_response preflight = client.request(
            "OPTIONS", path_of("x"),
            {{"Origin", "https://app.example"}, {"Access-Control-Request-Method", "PUT"}});
        CHECK(preflight.status == 204);
        CHECK(preflight.header("access-control-allow-methods").find("PUT") != std::string::npos);
        const http_response other = client.get("/healthz", {{"Origin", "https://other.example"}});
        CHECK(other.count("access-control-allow-origin") == (allowed == "*" ? 1 : 0));
        const http_response plain = client.get("/healthz");
        CHECK(plain.header("vary") == (allowed == "*" ? "" : "Origin"));
    }
}

}  // namespace cairn::test
