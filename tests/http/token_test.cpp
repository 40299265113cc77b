// The one static token: its file, who must bring it, and what those are told who do not.
#include "http/bearer_token.hpp"
#include "http/remote_store.hpp"
#include "tests/http/program.hpp"
#include "tests/http/served.hpp"

#include <csignal>
#include <doctest/doctest.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace cairn::test {
namespace {

const std::string token = "0123456789abcdef-._~+/==";
const std::string wrong = "0123456789abcdef-._~+/=";

http_settings guarded_settings() {
    http_settings settings = quick_settings();
    settings.token = token;
    return settings;
}

http_headers bearing(const std::string& credentials) { return {{"Authorization", credentials}}; }

std::string token_file(const temp_dir& dir, const std::string& bytes, mode_t mode = 0600) {
    const std::string path = dir / "token";
    ::unlink(path.c_str());
    write_file(path, bytes);
    ::chmod(path.c_str(), mode);
    return path;
}

std::string complaint_of(const std::string& path) {
    try {
        read_token_file(path);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("token: is 16 to 1024 characters of RFC 6750's alphabet, with = only at its end") {
    for (const std::string& good : {token, std::string(16, 'a'), std::string(1024, 'Z'),
                                    "0123456789abcde" + std::string("=")})
        CHECK(is_bearer_token(good));
    for (const std::string& bad :
         {std::string(), std::string(15, 'a'), std::string(1025, 'a'), std::string(16, '='),
          std::string("0123456789=abcdef"), std::string("0123456789 abcdef"),
          std::string("0123456789\"abcdef"), std::string("0123456789\nabcdef"),
          std::string("0123456789\0abcdef", 17),
          std::string("0123456789\xc3\xa4"
                      "abcdef")}) {
        CAPTURE(bad);
        CHECK_FALSE(is_bearer_token(bad));
    }
}

TEST_CASE("token: is accepted when it is the same, and never for a part of it") {
    const token_check check(token);
    CHECK(check.accepts(token));
    for (std::size_t size = 0; size < token.size(); ++size)
        CHECK_FALSE(check.accepts(token.substr(0, size)));
    CHECK_FALSE(check.accepts(token + "="));
    for (std::size_t at = 0; at < token.size(); ++at) {
        std::string other = token;
        other[at] ^= 1;
        CHECK_FALSE(check.accepts(other));
    }
}

TEST_CASE("token file: holds one line, and a newline at its end does not count") {
    const temp_dir dir;
    for (const char* end : {"", "\n", "\r\n"})
        CHECK(read_token_file(token_file(dir, token + end)) == token);
    CHECK(read_token_file(token_file(dir, token, 0400)) == token);
}

TEST_CASE("token file: what cannot serve is refused by name, with what to do") {
    const temp_dir dir;
    const auto refused = [&](const std::string& path, const std::string& remedy) {
        const std::string said = complaint_of(path);
        CAPTURE(said);
        CHECK(said.find(path) != std::string::npos);
        CHECK(said.find(remedy) != std::string::npos);
        CHECK(said.find("0123456789") == std::string::npos);  // never what it holds
    };
    refused(dir / "nowhere", "cannot be read: No such file");
    for (const mode_t mode : {0640, 0604, 0620, 0602, 0610, 0644})
        refused(token_file(dir, token, mode), "chmod 600");
    refused(token_file(dir, ""), "openssl rand");
    refused(token_file(dir, "\n"), "openssl rand");
    refused(token_file(dir, "0123456789abcde\n"), "16 are needed");
    refused(token_file(dir, token + "\n\n"), "one line");
    refused(token_file(dir, token + "\n" + token), "one line");
    refused(token_file(dir, " " + token), "letters, digits");
    refused(token_file(dir, std::string(5000, 'a')), "over 1024");
    ::mkdir((dir / "folder").c_str(), 0700);
    refused(dir / "folder", "cannot be read: Is a directory");
}

TEST_CASE("401: without the token nothing is answered but health, readiness and OPTIONS") {
    served here(guarded_settings());
    const blob_id id = here.keep("hello");
    http_client client = here.connect();
    const std::vector<std::pair<std::string, std::string>> guarded{
        {"GET", path_of(id)},       {"HEAD", path_of(id)},     {"DELETE", path_of(id)},
        {"PUT", path_of(id)},       {"GET", "/blobs"},         {"POST", "/blobs"},
        {"POST", "/blobs/stat"},    {"POST", "/blobs/read"},   {"POST", "/blobs/write"},
        {"GET", "/status"},         {"GET", "/metrics"},       {"GET", "/nowhere"},
        {"PATCH", path_of(id)},     {"GET", "/healthz/x"},     {"GET", "/%68ealthz/"},
        {"GET", "/blobs/nonsense"}, {"GET", path_of("other")},
    };
    for (const auto& [method, path] : guarded) {
        CAPTURE(method);
        CAPTURE(path);
        client.send_raw(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        const http_response answer = client.receive(method == "HEAD");
        CHECK(answer.status == 401);
        CHECK(answer.header("www-authenticate") == "Bearer realm=\"cairn\"");
        CHECK(answer.header("content-type") == "application/problem+json");
        if (method != "HEAD")
            CHECK(answer.body.find(R"("type":"unauthorized")") != std::string::npos);
    }
    CHECK(client.get("/healthz").status == 200);
    CHECK(client.get("/readyz").status == 200);
    CHECK(client.request("OPTIONS", path_of(id)).status == 204);
    CHECK(client.get(path_of(id), bearing("Bearer " + token)).body == "hello");
}

TEST_CASE("401: credentials that are wrong, of another scheme, or sent twice open nothing") {
    served here(guarded_settings());
    const blob_id id = here.keep("hello");
    http_client client = here.connect();
    for (const std::string& sent :
         {"Bearer " + wrong, "Bearer " + token + "x", std::string("Bearer"), std::string("Bearer "),
          "Bearer " + token + ", Bearer " + token, "bearer \"" + token + "\""}) {
        CAPTURE(sent);
        const http_response answer = client.get(path_of(id), bearing(sent));
        CHECK(answer.status == 401);
        CHECK(answer.header("www-authenticate") ==
              "Bearer realm=\"cairn\", error=\"invalid_token\"");
    }
    for (const std::string& sent : {"Basic " + token, token, std::string(), "Bearer\t" + token}) {
        CAPTURE(sent);
        const http_response answer = client.get(path_of(id), bearing(sent));
        CHECK(answer.status == 401);
        CHECK(answer.header("www-authenticate") == "Bearer realm=\"cairn\"");
    }
    const std::string good = "Bearer " + token;
    CHECK(client.get(path_of(id), {{"Authorization", good}, {"Authorization", good}}).status ==
          401);
    for (const std::string& sent : {good, "bearer " + token, "BEARER   " + token})
        CHECK(client.get(path_of(id), bearing(sent)).status == 200);
    CHECK(client.get(path_of(id) + "?access_token=" + token).status == 401);
}

TEST_CASE("401: comes instead of leave to send, and nothing of a body is stored or answered") {
    served here(guarded_settings());
    const std::string bytes = numbered_bytes(1000);
    const std::string head =
        "PUT " + path_of(bytes) + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n";
    {
        http_client client = here.connect();
        client.send_raw(head + "Expect: 100-continue\r\n\r\n");
        const http_response answer = client.receive();
        CHECK(answer.status == 401);
        CHECK(answer.header("connection") == "close");
    }
    {
        http_client client = here.connect();
        client.send_raw(head + "\r\n" + bytes);
        CHECK(client.receive().status == 401);
        CHECK(client.get("/healthz").status == 200);  // a small body is read and dropped
    }
    {
        http_client client = here.connect();
        client.send_raw("PUT " + path_of(bytes) +
                        " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nx");
        CHECK(client.receive().status == 401);
        CHECK(client.closed_by_peer());
    }
    http_client client = here.connect();
    CHECK(client.get(path_of(bytes), bearing("Bearer " + token)).status == 404);
    CHECK(client.put(path_of(bytes), bytes, bearing("Bearer " + token)).status == 201);
}

TEST_CASE("token: a cache on the way keeps an answer for who asked for it alone") {
    served here(guarded_settings());
    const blob_id id = here.keep("hello");
    const http_response answer = here.connect().get(path_of(id), bearing("Bearer " + token));
    CHECK(answer.header("cache-control") == "private, max-age=31536000, immutable");
}

TEST_CASE("token: a page that may use the API is told that it may send one") {
    http_settings settings = guarded_settings();
    settings.cors_origin = "https://app.example";
    served here(settings);
    const http_response preflight = here.connect().request(
        "OPTIONS", path_of("x"),
        {{"Origin", "https://app.example"}, {"Access-Control-Request-Method", "PUT"}});
    CHECK(preflight.status == 204);
    CHECK(preflight.header("access-control-allow-headers").starts_with("Authorization,"));
}

TEST_CASE("listen: a token opens a listener beyond this machine, a bad one or two ways open none") {
    runtime threads(two_threads());
    http_settings settings = guarded_settings();
    settings.listen = "0.0.0.0:0";
    CHECK_NOTHROW(http_server(threads, settings));
    settings.allow_anonymous = true;
    CHECK_THROWS_AS(http_server(threads, settings), std::invalid_argument);
    settings.allow_anonymous = false;
    settings.token = "short";
    CHECK_THROWS_AS(http_server(threads, settings), std::invalid_argument);
    settings.listen = "127.0.0.1:0";
    CHECK_THROWS_AS(http_server(threads, settings), std::invalid_argument);
}

TEST_CASE("remote: brings the token with every request, and without it is unauthorized") {
    served here(guarded_settings());
    const auto is_unauthorized = [&](const std::string& with) {
        remote_store store(host_port{"127.0.0.1", here.port()}, {}, with);
        buffer_source body(buffer::copy_of(as_bytes("hello")));
        const auto put = here.threads().run(store.put(body, std::nullopt));
        const auto held = here.threads().run(store.hold(blob_id::of(as_bytes("hello"))));
        const auto status = here.threads().run(store.status());
        here.threads().run(store.close());
        if (!put) {
            CHECK(put.error() == errc::unauthorized);
            CHECK(held.error() == errc::unauthorized);
            CHECK(status.error() == errc::unauthorized);
        }
        return !put;
    };
    CHECK(is_unauthorized(""));
    CHECK(is_unauthorized(wrong));
    CHECK_FALSE(is_unauthorized(token));
}

TEST_CASE("program: --token-file guards a server and opens it for the verbs") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string file = token_file(dir, token + "\n");
    server_process server(program_under_test(), dir / "served", {"--token-file", file});
    const std::string blob = write_file(dir / "blob", "hello");
    const auto verb = [&](std::vector<std::string> words, const std::string& with) {
        words.insert(words.end(), {"--server", url_of(server)});
        if (!with.empty()) words.insert(words.end(), {"--token-file", with});
        return run(words);
    };
    CHECK(verb({"put", blob}, file).output == id_of("hello") + "\n");
    CHECK(verb({"get", id_of("hello")}, file).output == "hello");
    CHECK(run({"ls", "--server", url_of(server)}, {}, {"CAIRN_TOKEN_FILE=" + file}).output ==
          id_of("hello") + " 5\n");
    CHECK(run({"copy", "--from", url_of(server), "--to", dir / "copy", "--token-file", file})
              .status == 0);
    CHECK(run({"ls", "--data", dir / "copy"}).output == id_of("hello") + " 5\n");

    const finished without = verb({"ls"}, "");
    CHECK(without.status == 3);
    CHECK(without.errors.find("--token-file FILE") != std::string::npos);
    const temp_dir other;
    const finished with_other = verb({"ls"}, token_file(other, wrong));
    CHECK(with_other.status == 3);
    CHECK(with_other.errors.find("another one") != std::string::npos);
    CHECK(with_other.errors.find(wrong) == std::string::npos);
    const finished open = verb({"ls"}, token_file(other, token, 0644));
    CHECK(open.status == 2);
    CHECK(open.errors.find("chmod 600") != std::string::npos);
    const finished serve = run({"serve", "--data", dir / "d", "--token-file", other / "token"});
    CHECK(serve.status == 2);
    CHECK(serve.errors.find("chmod 600") != std::string::npos);
}

TEST_CASE("program: a token that travels in clear beyond this machine is warned of, once") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string file = token_file(dir, token);
    const std::string errors = dir / "errors";
    const std::string script = "exec \"$0\" \"$@\" 2>" + errors;
    process server({"/bin/sh", "-c", script, program_under_test(), "serve", "--data", dir / "d",
                    "--listen", "0.0.0.0:0", "--token-file", file});
    REQUIRE(server.read_line(std::chrono::seconds(30)).has_value());
    server.kill(SIGTERM);
    CHECK(server.wait(std::chrono::seconds(30))->status == 0);
    const std::string said = read_file(errors);
    CHECK(said.find("in clear") != std::string::npos);
    CHECK(said.find("in clear") == said.rfind("in clear"));
    CHECK(said.find(token) == std::string::npos);
}

}  // namespace cairn::test
