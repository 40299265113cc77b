// Reading blobs over real sockets: every line of the contract for GET, HEAD, ranges and conditions.
#include "tests/http/served.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace cairn::test {
namespace {

constexpr const char* immutable = "public, max-age=31536000, immutable";

void check_blob_fields(const http_response& answer, const blob_id& id) {
    CHECK(answer.header("etag") == '"' + id.hex() + '"');
    CHECK(answer.header("accept-ranges") == "bytes");
    CHECK(answer.header("cache-control") == immutable);
    CHECK(answer.header("repr-digest") == "sha-256=:" + to_base64(id.bytes) + ":");
    CHECK(answer.header("x-content-type-options") == "nosniff");
}

struct part {
    std::string range, body;
};

// Takes a multipart body apart, strictly by the boundary that its Content-Type names.
std::vector<part> parts_of(const http_response& answer) {
    std::vector<part> parts;
    const std::string type(answer.header("content-type"));
    const std::string prefix = "multipart/byteranges; boundary=";
    REQUIRE(type.starts_with(prefix));
    const std::string boundary = "--" + type.substr(prefix.size());
    std::string rest = answer.body;
    REQUIRE(rest.starts_with(boundary + "\r\n"));
    rest.erase(0, boundary.size() + 2);
    for (;;) {
        const std::size_t head_end = rest.find("\r\n\r\n");
        const std::size_t end = rest.find("\r\n" + boundary, head_end + 4);
        REQUIRE(head_end != std::string::npos);
        REQUIRE(end != std::string::npos);
        const std::string head = rest.substr(0, head_end);
        const std::size_t range = head.find("Content-Range: ");
        REQUIRE(range != std::string::npos);
        parts.push_back({head.substr(range + 15), rest.substr(head_end + 4, end - head_end - 4)});
        rest.erase(0, end + 2 + boundary.size());
        if (rest == "--\r\n") return parts;
        REQUIRE(rest.starts_with("\r\n"));
        rest.erase(0, 2);
    }
}

}  // namespace

TEST_CASE(
    "GET: a blob of any size comes back byte for byte, with everything a cache wants to know") {
    served here;
    http_client client = here.connect();
    for (const std::size_t size : {0, 1, 4096, 4097, 65536, 65537, 300'000, 5 << 20}) {
        CAPTURE(size);
        const std::string bytes = numbered_bytes(size);
        const blob_id id = here.keep(bytes);
        for (const std::string& path :
             {path_of(id), "/blobs/sha256:" + id.hex(), "/blobs/sha256%3A" + id.hex()}) {
            const http_response answer = client.get(path);
            CHECK(answer.status == 200);
            CHECK(answer.body == bytes);
            CHECK(answer.header("content-length") == std::to_string(size));
            CHECK(answer.header("content-type") == "application/octet-stream");
            CHECK(answer.count("date") == 1);
            check_blob_fields(answer, id);
        }
    }
}

TEST_CASE("HEAD: is GET without the body, and ignores Range") {
    served here;
    http_client client = here.connect();
    const std::string bytes = numbered_bytes(70'000);
    const blob_id id = here.keep(bytes);
    const http_response head = client.request("HEAD", path_of(id), {{"Range", "bytes=0-1"}});
    CHECK(head.status == 200);
    CHECK(head.header("content-length") == "70000");
    CHECK(head.count("content-range") == 0);
    CHECK(head.header("content-type") == "application/octet-stream");
    check_blob_fields(head, id);
    CHECK(client.head(path_of("absent")).status == 404);
    // The connection is in step: no body followed.
    CHECK(client.get(path_of(id)).body == bytes);
}

TEST_CASE("GET: what is absent is 404, is not cached, and keeps the connection") {
    served here;
    http_client client = here.connect();
    for (int i = 0; i < 3; ++i) {
        const http_response answer = client.get(path_of("absent"));
        CHECK(answer.status == 404);
        CHECK(answer.header("cache-control") == "no-store");
        CHECK(answer.header("content-type") == "application/problem+json");
        CHECK(answer.header("content-length") == std::to_string(answer.body.size()));
        const auto problem = boost::json::parse(answer.body).as_object();
        CHECK(problem.at("type") == "not-found");
        CHECK(problem.at("status") == 404);
        CHECK_FALSE(problem.at("request_id").as_string().empty());
    }
}

TEST_CASE("ids: anything but 64 lower-case hex digits is malformed, whatever the method") {
    served here;
    http_client client = here.connect();
    const std::string digits(64, 'a');
    for (const std::string& name :
         {std::string("x"), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'),
          "SHA256:" + digits, "md5:" + digits, digits + "/", "git-sha1:" + digits, "../" + digits,
          std::string("%2e%2e"), digits.substr(1) + "%61%61"}) {
        for (const char* method : {"GET", "HEAD", "PUT", "DELETE"}) {
            CAPTURE(name);
            CAPTURE(method);
            CHECK(client.request(method, "/blobs/" + name).status == 400);
        }
    }
    CHECK(client.get("/blobs/" + digits.substr(1) + "%61").status == 404);
}

TEST_CASE("ranges: one range is a 206 with its Content-Range, on small and large blobs") {
    served here;
    http_client client = here.connect();
    for (const std::size_t size : {1000, 200'000}) {
        const std::string bytes = numbered_bytes(size);
        const std::string path = path_of(here.keep(bytes));
        const std::string total = std::to_string(size);
        const auto check = [&](const std::string& range, std::size_t first, std::size_t last) {
            CAPTURE(range);
            const http_response answer = client.get(path, {{"Range", "bytes=" + range}});
            CHECK(answer.status == 206);
            CHECK(answer.body == bytes.substr(first, last - first + 1));
            CHECK(answer.header("content-range") ==
                  "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" + total);
            check_blob_fields(answer, blob_id::of(as_bytes(bytes)));
        };
        check("0-0", 0, 0);
        check("0-", 0, size - 1);
        check("5-", 5, size - 1);
        check("7-99", 7, 99);
        check("-1", size - 1, size - 1);
        check("-5000000", 0, size - 1);
        check("990-18446744073709551615", 990, size - 1);
        check("0-1,5-6", 0, 6);
        check("0-0,0-0,0-0", 0, 0);
        check(std::to_string(size - 1) + "-99999999999999999999999", size - 1, size - 1);
    }
}

TEST_CASE("ranges: none that can be satisfied is 416 and tells the size") {
    served here;
    http_client client = here.connect();
    const std::string path = path_of(here.keep(numbered_bytes(100)));
    for (const char* range :
         {"bytes=100-", "bytes=100-200", "bytes=-0", "bytes=18446744073709551615-"}) {
        const http_response answer = client.get(path, {{"Range", range}});
        CHECK(answer.status == 416);
        CHECK(answer.header("content-range") == "bytes */100");
    }
    const std::string empty = path_of(here.keep(""));
    CHECK(client.get(empty, {{"Range", "bytes=0-0"}}).status == 416);
    CHECK(client.get(empty, {{"Range", "bytes=0-0"}}).header("content-range") == "bytes */0");
    CHECK(client.get(empty, {{"Range", "bytes=-0,-1"}}).status == 416);
}

TEST_CASE("ranges: what is malformed, reversed or too much is the whole blob") {
    served here;
    http_client client = here.connect();
    const std::string bytes = numbered_bytes(100);
    const std::string path = path_of(here.keep(bytes));
    std::string many = "bytes=0-0";
    for (int i = 0; i < 64; ++i) many += ",0-0";
    for (const std::string& range :
         {std::string("bytes=5-4"), std::string("abc"), std::string("bytes=abc"), many}) {
        const http_response answer = client.get(path, {{"Range", range}});
        CHECK(answer.status == 200);
        CHECK(answer.body == bytes);
    }
}

TEST_CASE("ranges: several are multipart, ascending, of the announced length") {
    served here;
    http_client client = here.connect();
    for (const std::size_t size : {2000, 300'000}) {
        const std::string bytes = numbered_bytes(size);
        const blob_id id = here.keep(bytes);
        const http_response answer =
            client.get(path_of(id), {{"Range", "bytes=-10,500-501,0-1,9999999-"}});
        CHECK(answer.status == 206);
        CHECK(answer.header("content-length") == std::to_string(answer.body.size()));
        CHECK(answer.count("transfer-encoding") == 0);
        check_blob_fields(answer, id);
        const std::vector<part> parts = parts_of(answer);
        REQUIRE(parts.size() == 3);
        CHECK(parts[0].range == "bytes 0-1/" + std::to_string(size));
        CHECK(parts[0].body == bytes.substr(0, 2));
        CHECK(parts[1].range == "bytes 500-501/" + std::to_string(size));
        CHECK(parts[1].body == bytes.substr(500, 2));
        CHECK(parts[2].body == bytes.substr(size - 10));
    }
    // The connection is in step after a multipart body.
    CHECK(client.get("/healthz").body == "ok\n");
}

TEST_CASE("ranges: multipart parts may be longer than a window") {
    served here;
    http_client client = here.connect();
    const std::string bytes = numbered_bytes(1 << 20);
    const http_response answer =
        client.get(path_of(here.keep(bytes)), {{"Range", "bytes=0-199999,400000-899999"}});
    const std::vector<part> parts = parts_of(answer);
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].body == bytes.substr(0, 200'000));
    CHECK(parts[1].body == bytes.substr(400'000, 500'000));
}

TEST_CASE("conditions: If-None-Match saves the body, If-Match refuses what is another blob") {
    served here;
    http_client client = here.connect();
    const std::string bytes = "some bytes";
    const blob_id id = here.keep(bytes);
    const std::string tag = '"' + id.hex() + '"';
    for (const char* method : {"GET", "HEAD"}) {
        CAPTURE(method);
        for (const std::string& value : {tag, "W/" + tag, std::string("*"), "\"x\", " + tag}) {
            const http_response answer =
                client.request(method, path_of(id), {{"If-None-Match", value}});
            CHECK(answer.status == 304);
            CHECK(answer.body.empty());
            CHECK(answer.header("etag") == tag);
            CHECK(answer.header("cache-control") == immutable);
        }
        CHECK(client.request(method, path_of(id), {{"If-None-Match", "\"x\""}}).status == 200);
        CHECK(client.request(method, path_of(id), {{"If-Match", tag}}).status == 200);
        CHECK(client.request(method, path_of(id), {{"If-Match", "*"}}).status == 200);
        CHECK(client.request(method, path_of(id), {{"If-Match", "\"x\""}}).status == 412);
        CHECK(client.request(method, path_of(id), {{"If-Match", "W/" + tag}}).status == 412);
        CHECK(client.request(method, path_of(id), {{"If-Match", "\"x\""}, {"If-None-Match", tag}})
                  .status == 412);
        CHECK(client
                  .request(method, path_of(id),
                           {{"If-Modified-Since", "Wed, 21 Oct 2099 07:28:00 GMT"}})
                  .status == 200);
        CHECK(client.request(method, path_of("absent"), {{"If-None-Match", "*"}}).status == 404);
    }
    const http_response two_lines =
        client.get(path_of(id), {{"If-None-Match", "\"x\""}, {"If-None-Match", tag}});
    CHECK(two_lines.status == 304);
    CHECK(client.get(path_of(id), {{"If-None-Match", tag}, {"Range", "bytes=0-1"}}).status == 304);
    CHECK(client.get(path_of(id)).body == bytes);
}

TEST_CASE("conditions: If-Range gives a part only to who has this very blob") {
    served here;
    http_client client = here.connect();
    const blob_id id = here.keep("0123456789");
    const auto status = [&](const std::string& value) {
        return client.get(path_of(id), {{"Range", "bytes=0-1"}, {"If-Range", value}}).status;
    };
    CHECK(status('"' + id.hex() + '"') == 206);
    CHECK(status("W/\"" + id.hex() + '"') == 200);
    CHECK(status("\"x\"") == 200);
    CHECK(status(id.hex()) == 200);
    CHECK(status("Wed, 21 Oct 2015 07:28:00 GMT") == 200);
}

TEST_CASE("Want-Digest: is answered in the old form, for aria2") {
    served here;
    http_client client = here.connect();
    const blob_id id = here.keep("hello");
    const std::string digest = "SHA-256=" + to_base64(id.bytes);
    CHECK(client.get(path_of(id), {{"Want-Digest", "SHA-256;q=1, SHA-1;q=0.1"}}).header("digest") ==
          digest);
    CHECK(client.head(path_of(id), {{"Want-Digest", "sha-256"}}).header("digest") == digest);
    CHECK(client.get(path_of(id), {{"Want-Digest", "MD5"}, {"Want-Digest", "sha-256"}})
              .header("digest") == digest);
    CHECK(client.get(path_of(id), {{"Want-Digest", "sha-256;q=0"}}).count("digest") == 0);
    CHECK(client.get(path_of(id)).count("digest") == 0);
    CHECK(client.get(path_of(id), {{"Want-Digest", "MD5"}}).count("digest") == 0);
}

TEST_CASE("DELETE: removes once, and answers for what is not there") {
    served here;
    http_client client = here.connect();
    const blob_id id = here.keep("bytes");
    CHECK(client.request("DELETE", path_of(id), {{"If-Match", "\"x\""}}).status == 412);
    const http_response gone = client.remove(path_of(id));
    CHECK(gone.status == 204);
    CHECK(gone.count("content-length") == 0);
    CHECK(client.remove(path_of(id)).status == 404);
    CHECK(client.get(path_of(id)).status == 404);
    here.keep("bytes");
    CHECK(client.remove(path_of(id) + "?force=1").status == 204);
}

TEST_CASE("list: pages through all blobs in the order of ids") {
    served here;
    http_client client = here.connect();
    std::vector<std::string> ids;
    for (int i = 0; i < 25; ++i) ids.push_back(here.keep("blob " + std::to_string(i)).hex());
    std::sort(ids.begin(), ids.end());

    std::vector<std::string> seen;
    std::string target = "/blobs?limit=10";
    int pages = 0;
    while (!target.empty()) {
        const http_response answer = client.get(target);
        REQUIRE(answer.status == 200);
        CHECK(answer.header("content-type") == "application/json");
        const auto page = boost::json::parse(answer.body).as_object();
        for (const auto& row : page.at("blobs").as_array()) {
            seen.emplace_back(row.at("id").as_string());
            CHECK(row.at("size").to_number<int>() >= 6);
        }
        ++pages;
        target.clear();
        if (page.at("next").is_null()) {
            CHECK(answer.count("link") == 0);
        } else {
            const std::string next(page.at("next").as_string());
            CHECK(next == seen.back());
            target = "/blobs?after=" + next + "&limit=10";
            CHECK(answer.header("link") == "<" + target + ">; rel=\"next\"");
        }
    }
    CHECK(pages == 3);
    CHECK(seen == ids);

    const http_response lines = client.get("/blobs?limit=2", {{"Accept", "application/x-ndjson"}});
    CHECK(lines.header("content-type") == "application/x-ndjson");
    CHECK(lines.body ==
          "{\"id\":\"" + ids[0] + "\",\"size\":" +
              std::to_string(boost::json::parse(lines.body.substr(0, lines.body.find('\n')))
                                 .at("size")
                                 .to_number<int>()) +
              "}\n{\"id\":\"" + ids[1] +
              "\",\"size\":" + lines.body.substr(lines.body.rfind(':') + 1));
    for (const char* bad : {"limit=0", "limit=10001", "limit=-1", "limit=x", "limit=", "after=x",
                            "limit=99999999999999999999"}) {
        CAPTURE(bad);
        CHECK(client.get(std::string("/blobs?") + bad).status == 400);
    }
    CHECK(client.get("/blobs?limit=25").body.find("\"next\":null") != std::string::npos);
    CHECK(client.get("/blobs?after=").status == 200);
    CHECK(client.head("/blobs").status == 200);
}

TEST_CASE("list: an empty store is an empty list") {
    served here;
    CHECK(here.connect().get("/blobs").body == "{\"blobs\":[],\"next\":null}\n");
    CHECK(here.connect().get("/blobs", {{"Accept", "application/x-ndjson"}}).body.empty());
}

TEST_CASE("methods: a resource tells which it knows") {
    served here;
    http_client client = here.connect();
    const std::string blob = path_of("x");
    const std::string blob_methods = "GET, HEAD, PUT, DELETE, OPTIONS";
    CHECK(client.request("POST", blob).status == 405);
    CHECK(client.request("POST", blob).header("allow") == blob_methods);
    CHECK(client.request("PATCH", blob).status == 405);
    CHECK(client.request("BREW", blob).status == 405);
    CHECK(client.request("OPTIONS", blob).status == 204);
    CHECK(client.request("OPTIONS", blob).header("allow") == blob_methods);
    CHECK(client.request("PUT", "/blobs").header("allow") == "GET, HEAD, POST, OPTIONS");
    CHECK(client.request("DELETE", "/healthz").header("allow") == "GET, HEAD, OPTIONS");
    CHECK(client.request("OPTIONS", "*").status == 204);
    for (const char* path :
         {"/", "/blob", "/blobsx", "/healthz/", "/HEALTHZ", "/blobs/../healthz"}) {
        CAPTURE(path);
        const int status = client.get(path).status;
        CHECK((status == 404 || status == 400));
    }
    CHECK(client.get("/a%2fb").status == 400);
    CHECK(client.get("/a%zz").status == 400);
}

TEST_CASE("service routes: health, readiness, status and metrics answer people and machines") {
    served here;
    http_client client = here.connect();
    here.keep("hello");
    CHECK(client.get("/healthz").body == "ok\n");
    CHECK(client.get("/readyz").status == 200);
    const auto status = boost::json::parse(client.get("/status").body).as_object();
    CHECK(status.at("state") == "ready");
    CHECK(status.at("blobs") == 1);
    CHECK(status.at("blob_bytes") == 5);
    CHECK(status.at("durability").as_string() == to_string(served_durability()));
    CHECK(status.at("connections").to_number<int>() == 1);
    const http_response metrics = client.get("/metrics");
    CHECK(metrics.header("content-type").starts_with("text/plain; version=0.0.4"));
    CHECK(metrics.body.find("cairn_http_requests_total{method=\"GET\",status=\"2xx\"} 3") !=
          std::string::npos);
    CHECK(metrics.body.find("cairn_http_connections 1") != std::string::npos);
    CHECK(metrics.body.find("cairn_http_request_duration_seconds_bucket") != std::string::npos);
}

TEST_CASE("readiness: until the store is open only health and status answer") {
    served here(quick_settings(), false);
    http_client client = here.connect();
    CHECK(client.get("/healthz").status == 200);
    CHECK(client.get("/readyz").status == 503);
    CHECK(client.get("/readyz").header("retry-after") == "1");
    CHECK(boost::json::parse(client.get("/status").body).at("state") == "starting");
    CHECK(client.get(path_of("x")).status == 503);
    CHECK(client.get("/blobs").status == 503);
    CHECK(client.post("/blobs", "x").status == 503);
    here.attach();
    CHECK(client.get("/readyz").status == 200);
    CHECK(client.get(path_of("x")).status == 404);
}

}  // namespace cairn::test
