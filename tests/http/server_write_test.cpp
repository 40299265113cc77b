// Storing blobs over real sockets: every line of the contract for PUT and POST.
#include "http/json_fields.hpp"
#include "tests/http/served.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cairn::test {
namespace {

std::string chunked(std::string_view bytes, std::size_t piece) {
    std::string out;
    while (!bytes.empty()) {
        const std::string_view one = bytes.substr(0, piece);
        char size[32];
        std::snprintf(size, sizeof size, "%zx\r\n", one.size());
        out.append(size).append(one).append("\r\n");
        bytes.remove_prefix(one.size());
    }
    return out + "0\r\n\r\n";
}

http_response put_chunked(http_client& client,
                          const std::string& target,
                          std::string_view body,
                          std::size_t piece) {
    client.send_raw("PUT " + target +
                    " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send_raw(chunked(body, piece));
    return client.receive();
}

std::string problem_type(const http_response& answer) {
    CHECK(answer.header("content-type") == "application/problem+json");
    return std::string(boost::json::parse(answer.body).at("type").as_string());
}

void check_receipt(const http_response& answer, std::string_view bytes, bool created) {
    const std::string id = blob_id::of(as_bytes(bytes)).hex();
    CHECK(answer.status == (created ? 201 : 200));
    CHECK(answer.header("location") == "/blobs/" + id);
    CHECK(answer.header("etag") == '"' + id + '"');
    CHECK(answer.header("cairn-durability") == to_string(served_durability()));
    const auto receipt = boost::json::parse(answer.body).as_object();
    CHECK(text_at(receipt, "id") == id);
    CHECK(receipt.at("size").to_number<std::size_t>() == bytes.size());
    CHECK(receipt.at("created") == created);
    CHECK(receipt.at("durability").as_string() == to_string(served_durability()));
}

}  // namespace

TEST_CASE("PUT: a new blob is 201, the same again 200, of any size and framing") {
    served here;
    http_client client = here.connect();
    for (const std::size_t size :
         {0, 1, 1000, 4096, 4097, 65535, 65536, 65537, 131072, 300'000, 3 << 20}) {
        CAPTURE(size);
        const std::string bytes = numbered_bytes(size);
        check_receipt(client.put(path_of(bytes), bytes), bytes, true);
        check_receipt(client.put(path_of(bytes), bytes), bytes, false);
        check_receipt(put_chunked(client, path_of(bytes), bytes, 5000), bytes, false);
        CHECK(client.get(path_of(bytes)).body == bytes);
        CHECK(client.remove(path_of(bytes)).status == 204);
        check_receipt(put_chunked(client, path_of(bytes), bytes, 70'001), bytes, true);
        CHECK(client.get(path_of(bytes)).body == bytes);
    }
    const std::string bytes = numbered_bytes(3000);
    check_receipt(put_chunked(client, path_of(bytes), bytes, 1), bytes, true);
}

TEST_CASE(
    "PUT: a body that does not hash to its id is 400, stores nothing and keeps the connection") {
    served here;
    http_client client = here.connect();
    for (const std::size_t size : {10, 70'000}) {
        const std::string bytes = numbered_bytes(size);
        const std::string wrong = numbered_bytes(size + 1).substr(0, size);
        const http_response answer = client.put(path_of(bytes), wrong);
        CHECK(answer.status == 400);
        CHECK(problem_type(answer) == "digest-mismatch");
        CHECK(client.get(path_of(bytes)).status == 404);
        CHECK(client.get(path_of(wrong)).status == 404);
        // Also when the blob is there: the body is checked, not taken on trust.
        client.put(path_of(bytes), bytes);
        CHECK(problem_type(client.put(path_of(bytes), wrong)) == "digest-mismatch");
    }
    CHECK(client.get("/blobs?limit=10").status == 200);
}

TEST_CASE("POST: stores what has no name yet, and checks a digest that is sent along") {
    served here;
    http_client client = here.connect();
    check_receipt(client.post("/blobs", "hello"), "hello", true);
    check_receipt(client.post("/blobs", "hello"), "hello", false);
    const std::string right = "sha-256=:" + to_base64(blob_id::of(as_bytes("hello")).bytes) + ":";
    const std::string wrong = "sha-256=:" + to_base64(blob_id::of(as_bytes("other")).bytes) + ":";
    for (const char* field : {"Repr-Digest", "Content-Digest"}) {
        CAPTURE(field);
        CHECK(client.request("POST", "/blobs", {{field, right}}, "hello").status == 200);
        CHECK(problem_type(client.request("POST", "/blobs", {{field, wrong}}, "hello")) ==
              "digest-mismatch");
        CHECK(problem_type(client.request("POST", "/blobs", {{field, "sha-256=:x:"}}, "hello")) ==
              "malformed-digest");
        CHECK(client.request("POST", "/blobs", {{field, "md5=:AAAA:"}}, "hello").status == 200);
        CHECK(client.request("PUT", path_of("hello"), {{field, right}}, "hello").status == 200);
        CHECK(problem_type(client.request("PUT", path_of("hello"), {{field, wrong}}, "hello")) ==
              "digest-mismatch");
    }
    CHECK(
        client
            .request("POST", "/blobs", {{"Repr-Digest", right}, {"Content-Digest", wrong}}, "hello")
            .status == 400);
    CHECK(client.get(path_of("other")).status == 404);
}

TEST_CASE("PUT: what cannot be stored as it is sent is refused before the body") {
    http_settings settings = quick_settings();
    settings.blob_bytes_max = 1000;
    served here(settings);
    http_client client = here.connect();
    const std::string bytes = numbered_bytes(100);
    const std::string path = path_of(bytes);
    CHECK(client.put(path, bytes, {{"Content-Range", "bytes 0-99/200"}}).status == 400);
    CHECK(client.put(path, bytes, {{"Content-Encoding", "gzip"}}).status == 415);
    CHECK(client.request("POST", "/blobs", {{"Content-Encoding", "identity"}}, bytes).status ==
          415);
    CHECK(client.get(path).status == 404);

    const std::string large = numbered_bytes(1001);
    const http_response refused = client.put(path_of(large), large);
    CHECK(refused.status == 413);
    CHECK(problem_type(refused) == "too-large");
    CHECK(client.get(path_of(large)).status == 404);
    CHECK(put_chunked(client, path_of(large), large, 100).status == 413);
    CHECK(client.put(path_of(large), large.substr(0, 1000)).status == 400);
}

TEST_CASE("PUT: a huge length is refused at once and the connection closed") {
    http_settings settings = quick_settings();
    settings.blob_bytes_max = 1 << 20;
    served here(settings);
    http_client client = here.connect();
    client.send_raw("PUT " + path_of("x") +
                    " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9223372036854775807\r\n\r\n");
    const http_response refused = client.receive();
    CHECK(refused.status == 413);
    CHECK(refused.header("connection") == "close");
    CHECK(client.closed_by_peer());
}

TEST_CASE("PUT: If-None-Match: * refuses what is there, before the body") {
    served here;
    http_client client = here.connect();
    const std::string bytes = numbered_bytes(200'000);
    const std::string path = path_of(bytes);
    CHECK(client.put(path, bytes, {{"If-None-Match", "*"}}).status == 201);
    client.send_raw(
        "PUT " + path +
        " HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: *\r\nContent-Length: 200000\r\n\r\n");
    const http_response refused = client.receive();
    CHECK(refused.status == 412);
    CHECK(refused.header("connection") == "close");

    http_client again = here.connect();
    const std::string tag = '"' + blob_id::of(as_bytes(bytes)).hex() + '"';
    CHECK(again.put(path_of("small"), "small", {{"If-Match", "*"}}).status == 412);
    CHECK(again.put(path, bytes, {{"If-Match", tag}}).status == 200);
}

TEST_CASE("Expect: leave is given when the body is wanted") {
    served here;
    http_client client = here.connect();
    const std::string bytes = numbered_bytes(100'000);
    client.send_raw(
        "PUT " + path_of(bytes) +
        " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-Continue\r\nContent-Length: 100000\r\n\r\n");
    CHECK(client.receive().status == 100);
    client.send_raw(bytes);
    check_receipt(client.receive(), bytes, true);
    CHECK(client.get(path_of(bytes)).body == bytes);
}

TEST_CASE("Expect: a large blob that is here already gets its final answer instead, and a close") {
    served here;
    const std::string bytes = numbered_bytes(65'537);
    here.keep(bytes);
    http_client client = here.connect();
    client.send_raw(
        "PUT " + path_of(bytes) +
        " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 65537\r\n\r\n");
    const http_response answer = client.receive();
    check_receipt(answer, bytes, false);
    CHECK(answer.header("connection") == "close");
    CHECK(client.closed_by_peer());
}

TEST_CASE("Expect: a small blob that is here already is read to the end and checked") {
    served here;
    const std::string bytes = numbered_bytes(65'536);
    here.keep(bytes);
    http_client client = here.connect();
    client.send_raw(
        "PUT " + path_of(bytes) +
        " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 65536\r\n\r\n");
    CHECK(client.receive().status == 100);
    client.send_raw(numbered_bytes(65'537).substr(0, 65'536));
    CHECK(problem_type(client.receive()) == "digest-mismatch");
}

TEST_CASE("Expect: refusals come instead of leave") {
    http_settings settings = quick_settings();
    settings.blob_bytes_max = 1000;
    served here(settings);
    const auto first_status = [&](const std::string& target, const std::string& fields) {
        http_client client = here.connect();
        client.send_raw("PUT " + target +
                        " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n" + fields +
                        "\r\n");
        const http_response answer = client.receive();
        CHECK(answer.header("connection") == "close");
        CHECK(client.closed_by_peer());
        return answer.status;
    };
    CHECK(first_status(path_of("x"), "Content-Length: 1001\r\n") == 413);
    CHECK(first_status("/blobs/x", "Content-Length: 5\r\n") == 400);
    CHECK(first_status("/nowhere", "Content-Length: 5\r\n") == 404);
    CHECK(first_status(path_of("x"), "Content-Length: 5\r\nContent-Encoding: gzip\r\n") == 415);
    CHECK(first_status(path_of("x"), "Content-Length: 5\r\nOrigin: http://evil.example\r\n") ==
          403);
}

TEST_CASE("Expect: anything but 100-continue is 417, and on HTTP/1.0 it is ignored") {
    served here;
    http_client client = here.connect();
    CHECK(client.put(path_of("x"), "x", {{"Expect", "200-ok"}}).status == 417);
    client.send_raw("PUT " + path_of("x") +
                    " HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx");
    CHECK(client.receive().status == 201);
}

TEST_CASE("PUT: two of the same blob at once both succeed, and one of them created it") {
    served here;
    const std::string bytes = numbered_bytes(500'000);
    for (int round = 0; round < 10; ++round) {
        std::vector<std::thread> threads;
        std::atomic<int> created{0}, present{0};
        std::mutex mutex;
        std::string refusals;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                const http_response answer = here.connect().put(path_of(bytes), bytes);
                if (answer.status == 201) ++created;
                if (answer.status == 200) ++present;
                if (answer.status / 100 == 2) return;
                const std::scoped_lock lock(mutex);
                refusals += answer.body;
            });
        }
        for (std::thread& each : threads) each.join();
        CHECK(refusals == "");
        CHECK(created == 1);
        CHECK(present == 3);
        CHECK(here.connect().remove(path_of(bytes)).status == 204);
    }
}

TEST_CASE("PUT: a body cut short stores nothing") {
    served here;
    const std::string bytes = numbered_bytes(100'000);
    for (const std::size_t sent : {0, 1, 50'000, 99'999}) {
        http_client client = here.connect();
        client.send_raw("PUT " + path_of(bytes) +
                        " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" +
                        bytes.substr(0, sent));
        client.finish_sending();
        CHECK(client.closed_by_peer());
    }
    {
        http_client client = here.connect();
        client.send_raw(
            "PUT " + path_of(bytes) +
            " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" + bytes +
            "\r\n");
        client.finish_sending();
        CHECK(client.closed_by_peer());
    }
    CHECK(here.connect().get(path_of(bytes)).status == 404);
}

TEST_CASE("chunked: framing that lies is 400, stores nothing and closes") {
    served here;
    const std::string bytes = "hello";
    for (const char* body : {"g\r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n",
                             "5\r\nhelloX\r\n0\r\n\r\n", "-5\r\nhello", "5 \r\nhello\r\n0\r\n\r\n",
                             "10000000000000000\r\nhello", "5\r\nhello0\r\n\r\n"}) {
        CAPTURE(body);
        http_client client = here.connect();
        client.send_raw("PUT " + path_of(bytes) +
                        " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" +
                        body);
        const http_response answer = client.receive();
        CHECK(answer.status == 400);
        CHECK(answer.header("connection") == "close");
        CHECK(client.closed_by_peer());
    }
    CHECK(here.connect().get(path_of(bytes)).status == 404);
}

TEST_CASE("chunked: extensions and trailers are dropped, and trailers never become fields") {
    served here;
    http_client client = here.connect();
    client.send_raw("PUT " + path_of("hello") +
                    " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "5;name=\"value\"\r\nhello\r\n0;last\r\nIf-None-Match: *\r\nContent-Encoding: "
                    "gzip\r\nConnection: close\r\n\r\n");
    CHECK(client.receive().status == 201);
    CHECK(client.get(path_of("hello")).body == "hello");
}

TEST_CASE("bodies that nobody wants do not become the next request") {
    served here;
    const std::string hidden = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    http_client client = here.connect();
    for (const char* method : {"GET", "DELETE", "POST"}) {
        CAPTURE(method);
        CHECK(client.request(method, "/nowhere", {}, hidden).status == 404);
        CHECK(client.request(method, path_of("absent"), {}, hidden).status != 200);
        CHECK(client.get("/healthz").body == "ok\n");
    }
    // Too much to read for nothing: answered, then closed.
    const std::string large(unwanted_bytes_max + 1, 'x');
    client.send_raw("POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                    std::to_string(large.size()) + "\r\n\r\n" + large);
    const http_response refused = client.receive();
    CHECK(refused.status == 404);
    CHECK(refused.header("connection") == "close");
    CHECK(client.closed_by_peer());
}

}  // namespace cairn::test
