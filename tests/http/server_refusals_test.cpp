// Every refusal has a status for machines, a type for programs and a detail for people, and says no
// more than that.
#include "tests/http/served.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::test {
namespace {

struct refused_request {
    std::string bytes;  // sent as they are
    int status = 0;
    std::string_view type;
};

std::string request(const std::string& line, const std::string& fields = "") {
    return line + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}

std::string put(const std::string& fields, const std::string& body = "hello") {
    return request("PUT " + path_of("hello"), "Content-Length: 5\r\n" + fields) + body;
}

const std::string zero_digest = "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:";

// With a blob "kept" of four bytes in the store.
std::vector<refused_request> refused_requests() {
    const std::string kept = path_of("kept");
    const std::string batch = "Content-Type: application/vnd.cairn.blobs\r\nContent-Length: 1\r\n";
    return {
        {request("GET /nowhere"), 404, "not-found"},
        {request("GET " + path_of("absent")), 404, "not-found"},
        {request("DELETE " + path_of("absent")), 404, "not-found"},
        {request("GET /%zz"), 400, "malformed-target"},
        {request("GET /blobs/x"), 400, "malformed-id"},
        {request("PUT /blobs/" + std::string(64, 'A'), "Content-Length: 5\r\n") + "hello", 400,
         "malformed-id"},
        {request("GET /blobs/git-sha1:" + std::string(40, 'a')), 400, "unsupported-id"},
        {request("PUT /blobs/git-sha256:" + std::string(64, 'a')), 400, "unsupported-id"},
        {request("GET /blobs?after=x"), 400, "malformed-id"},
        {request("GET /blobs?limit=0"), 400, "malformed-limit"},
        {request("GET /blobs?limit=10001"), 400, "malformed-limit"},
        {request("POST /blobs/stat?renew=x", "Content-Length: 2\r\n") + "[]", 400,
         "malformed-renew"},
        {request("POST /blobs/stat", "Content-Length: 1\r\n") + "x", 400, "malformed"},
        {request("POST /blobs/read", "Content-Type: text/plain\r\nContent-Length: 2\r\n") + "[]",
         415, "content-type"},
        {request("POST /blobs/write", batch) + "x", 400, "malformed"},
        {put("", "HELLO"), 400, "digest-mismatch"},
        {put("Repr-Digest: " + zero_digest + "\r\n"), 400, "digest-mismatch"},
        {put("Content-Digest: " + zero_digest + "\r\n"), 400, "digest-mismatch"},
        {put("Repr-Digest: sha-256=:AAA=:\r\n"), 400, "malformed-digest"},
        {put("Content-Range: bytes 0-4/9\r\n"), 400, "content-range"},
        {put("Content-Encoding: gzip\r\n"), 415, "content-encoding"},
        {put("If-Match: *\r\n"), 412, "precondition-failed"},
        {put("Expect: x\r\n"), 417, "expectation-failed"},
        {request("PUT " + path_of("x"), "Content-Length: 1001\r\n"), 413, "too-large"},
        {request("GET " + kept, "Range: bytes=4-\r\n"), 416, "out-of-range"},
        {request("GET " + kept, "If-Match: \"x\"\r\n"), 412, "precondition-failed"},
        {request("PATCH " + kept), 405, "method-not-allowed"},
        {request("PUT /healthz", "Content-Length: 0\r\n"), 405, "method-not-allowed"},
        {"GET /healthz HTTP/1.1\r\nHost: evil\r\n\r\n", 403, "unknown-host"},
        {request("DELETE " + kept, "Origin: http://evil\r\n"), 403, "cross-site"},
        {"nonsense\r\n\r\n", 400, "malformed-head"},
        {"GET /" + std::string(9'000, 'a'), 414, "target-too-long"},
        {request("GET /", "A: " + std::string(17'000, 'a')), 431, "head-too-large"},
        {"GET / HTTP/2.0\r\n\r\n", 505, "unknown-version"},
        {"GET / HTTP", 408, "timed-out"},
        {request("PUT " + path_of("x"), "Content-Length: 5\r\n") + "h", 408, "timed-out"},
        {request("PUT " + path_of("x"), "Transfer-Encoding: chunked\r\n") + "x", 400, "malformed"},
    };
}

http_settings small_settings() {
    http_settings settings = quick_settings();
    settings.blob_bytes_max = 1'000;
    settings.head_time = std::chrono::milliseconds(100);
    settings.body_period = std::chrono::milliseconds(100);
    return settings;
}

void check_problem(const http_response& answer, int status, std::string_view type) {
    CHECK(answer.status == status);
    CHECK(answer.header("content-type") == "application/problem+json");
    CHECK(answer.header("content-length") == std::to_string(answer.body.size()));
    CHECK(answer.header("cache-control") == (status == 404 ? "no-store" : ""));
    CHECK(answer.header("retry-after") == (status == 503 ? "1" : ""));
    CHECK(answer.count("etag") == 0);
    const auto problem = boost::json::parse(answer.body).as_object();
    CHECK(problem.size() == 5);
    CHECK(problem.at("type").as_string() == type);
    CHECK(problem.at("status") == status);
    CHECK_FALSE(problem.at("title").as_string().empty());
    CHECK_FALSE(problem.at("detail").as_string().empty());
    CHECK_FALSE(problem.at("request_id").as_string().empty());
}

}  // namespace

TEST_CASE("refusals: each is a problem of its own type and status") {
    served here(small_settings());
    here.keep("kept");
    for (const refused_request& each : refused_requests()) {
        CAPTURE(each.bytes.substr(0, 200));
        http_client client = here.connect();
        client.send_raw(each.bytes);
        check_problem(client.receive(), each.status, each.type);
    }
    CHECK(here.connect().get(path_of("kept")).body == "kept");
    CHECK(here.connect().get(path_of("hello")).status == 404);
}

TEST_CASE("refusals: HEAD has the head of the problem that GET would have, and no body") {
    served here;
    http_client client = here.connect();
    for (const char* target : {"/nowhere", "/blobs/x", "/blobs?limit=0"}) {
        CAPTURE(target);
        const http_response full = client.get(target);
        const http_response head = client.head(target);
        CHECK(head.status == full.status);
        CHECK(head.header("content-type") == "application/problem+json");
        CHECK(head.header("cache-control") == full.header("cache-control"));
        CHECK(client.get("/healthz").body == "ok\n");  // the connection is in step
    }
}

TEST_CASE("refusals: a store that is not there yet is 503 and says when to come again") {
    served here(quick_settings(), false);
    http_client client = here.connect();
    for (const std::string& target : {path_of("x"), std::string("/blobs"), std::string("/readyz")})
        check_problem(client.get(target), 503, "starting");
    check_problem(client.put(path_of("x"), "x"), 503, "starting");
    check_problem(client.post("/blobs/stat", "[]"), 503, "starting");
}

TEST_CASE("refusals: nothing of the request and nothing of the machine is in them") {
    served here;
    http_client client = here.connect();
    const std::string canary = "canary4711";
    for (const std::string& target :
         {"/" + canary, "/blobs/" + canary, "/blobs?limit=" + canary, "/blobs?after=" + canary}) {
        const std::string body = client.get(target, {{"X-" + canary, canary}}).body;
        CHECK(body.find(canary) == std::string::npos);
    }
}

}  // namespace cairn::test
