// The program as a person and a script meet it: verbs, exit statuses, what goes where.
#include "tests/http/program.hpp"

#include "http/json_fields.hpp"
#include "tests/http/served.hpp"

#include <boost/json/parse.hpp>
#include <chrono>
#include <csignal>
#include <doctest/doctest.h>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace cairn::test {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

TEST_CASE(
    "program: put prints one id a line, get gives the bytes back, over a server and in place") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string small = "hello";
    const std::string large = numbered_bytes(3 << 20);
    const std::string first = write_file(dir / "first", small);
    const std::string second = write_file(dir / "second", large);
    std::optional<server_process> server;
    for (const bool remote : {true, false}) {
        CAPTURE(remote);
        std::vector<std::string> where{"--data", dir / "local"};
        if (remote) {
            server.emplace(program_under_test(), dir / "served");
            where = {"--server", url_of(*server)};
        }
        const auto with = [&](std::vector<std::string> words) {
            words.insert(words.end(), where.begin(), where.end());
            return words;
        };
        const finished put = run(with({"put", first, second}));
        CHECK(put.status == 0);
        CHECK(put.output == id_of(small) + "\n" + id_of(large) + "\n");
        const finished from_input = run(with({"put", "-"}), "from a pipe");
        CHECK(from_input.output == id_of("from a pipe") + "\n");

        CHECK(run(with({"get", id_of(small)})).output == small);
        CHECK(run(with({"get", "sha256:" + id_of(large)})).output == large);
        CHECK(run(with({"get", id_of(small), "--range", "1-2"})).output == "el");
        CHECK(run(with({"get", id_of(small), "--range", "1-"})).output == "ello");
        const std::string out = dir / "out";
        CHECK(run(with({"get", id_of(large), "-o", out})).status == 0);
        CHECK(read_file(out) == large);

        CHECK(run(with({"stat", id_of(small), id_of(large)})).output ==
              id_of(small) + " 5\n" + id_of(large) + " " + std::to_string(large.size()) + "\n");
        const finished list = run(with({"ls"}));
        CHECK(list.output.find(id_of(small) + " 5\n") != std::string::npos);
        CHECK(std::count(list.output.begin(), list.output.end(), '\n') == 3);
        CHECK(run(with({"ls", "--limit", "1", "--after", std::string(64, '0')})).output ==
              list.output.substr(0, list.output.find('\n') + 1));
        CHECK(run(with({"status"})).output.find("blobs        3 (") != std::string::npos);

        CHECK(run(with({"rm", id_of(small)})).status == 0);
        CHECK(run(with({"get", id_of(small)})).status == 1);
        if (server) CHECK(server->stop().status == 0);
        server.reset();
    }
}

TEST_CASE("program: --json is one JSON object a line") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string file = write_file(dir / "file", "hello");
    const std::vector<std::string> where{"--data", dir / "local", "--json"};
    const auto object = [&](std::vector<std::string> words) {
        words.insert(words.end(), where.begin(), where.end());
        const finished done = run(words);
        CHECK(done.status == 0);
        return boost::json::parse(done.output).as_object();
    };
    const auto stored = object({"put", file});
    CHECK(text_at(stored, "id") == id_of("hello"));
    CHECK(text_at(stored, "file") == file);
    CHECK(stored.at("size") == 5);
    CHECK(stored.at("created") == true);
    CHECK(stored.at("durability") == "full");
    CHECK(object({"stat", id_of("hello")}).at("size") == 5);
    CHECK(text_at(object({"ls"}), "id") == id_of("hello"));
    CHECK(object({"status"}).at("blobs") == 1);
    CHECK(object({"rm", id_of("hello")}).at("removed") == true);
}

TEST_CASE("program: what is not there is 1, and told by name") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::vector<std::string> where{"--data", dir / "local"};
    const std::string id = id_of("absent");
    for (const char* verb : {"get", "stat", "rm"}) {
        CAPTURE(verb);
        const finished done = run({verb, id, where[0], where[1]});
        CHECK(done.status == 1);
        CHECK(done.output.empty());
        CHECK(done.errors.find(id) != std::string::npos);
        CHECK(done.errors.find("no such blob") != std::string::npos);
    }
    const std::string out = dir / "out";
    CHECK(run({"get", id, "-o", out, where[0], where[1]}).status == 1);
    CHECK_FALSE(fs::exists(out));
    CHECK(run({"put", dir / "missing", where[0], where[1]}).status == 3);
    run({"put", write_file(dir / "file", "hello"), where[0], where[1]});
    CHECK(run({"get", id_of("hello"), "--range", "5-9", where[0], where[1]}).status == 1);
}

TEST_CASE("program: usage that makes no sense is 2 and says what would") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const auto refused = [&](const std::vector<std::string>& words, std::string_view hint) {
        const finished done = run(words);
        CAPTURE(done.errors);
        CHECK(done.status == 2);
        CHECK(done.output.empty());
        CHECK(done.errors.find(hint) != std::string::npos);
    };
    const std::string id = id_of("x");
    refused({}, "--help");
    refused({"brew"}, "brew");
    refused({"serve"}, "--data");
    refused({"serve", "--data", dir / "d", "--catalog", "postgresql://x"}, "not both");
    refused({"serve", "--data", dir / "d", "--durability", "replicated"}, "--catalog");
    refused({"serve", "--data", dir / "d", "--bulk", "large_objects"}, "--catalog");
    refused({"serve", "--catalog", "postgresql://x", "--bulk", "segments"}, "chunks");
    refused({"serve", "--data", dir / "d", "--listen", "0.0.0.0:0"}, "--allow-anonymous");
    refused({"serve", "--data", dir / "d", "--listen", "nonsense"}, "HOST:PORT");
    refused({"serve", "--data", dir / "d", "--max-blob-size", "12 parsecs"}, "64MiB");
    refused({"serve", "--data", dir / "d", "--drain-time", "soon"}, "15m");
    refused({"put"}, "FILE");
    refused({"get", id, "extra"}, "extra");
    refused({"get", "x"}, "64 lower-case hex digits");
    refused({"get", std::string(64, 'A')}, "64 lower-case hex digits");
    refused({"get", id, "--range", "5-4"}, "0-99");
    refused({"stat", "x"}, "64 lower-case hex digits");
    refused({"ls", "--limit", "many"}, "limit");
    refused({"ls", "--server", "ftp://x"}, "HOST:PORT");
    refused({"ls", "--server", "h", "--data", "d"}, "--data");
    CHECK_FALSE(fs::exists(dir / "d"));
}

TEST_CASE("program: trouble is 3 and says where") {
    if (program_is_missing()) return;
    const temp_dir dir;
    std::uint16_t free_port = 0;
    { free_port = served().port(); }
    const finished nobody = run({"ls", "--server", "127.0.0.1:" + std::to_string(free_port)});
    CHECK(nobody.status == 3);
    CHECK(nobody.errors.find("cairn serve") != std::string::npos);

    server_process server(program_under_test(), dir / "served");
    const finished locked = run({"ls", "--data", dir / "served"});
    CHECK(locked.status == 3);
    CHECK(locked.errors.find("another process") != std::string::npos);
    const finished taken = run({"serve", "--data", dir / "other", "--listen",
                                "127.0.0.1:" + std::to_string(server.port())});
    CHECK(taken.status == 3);
    CHECK(taken.errors.find("in use") != std::string::npos);
    CHECK(taken.output.empty());
}

TEST_CASE("program: --help is for people and --version for scripts") {
    if (program_is_missing()) return;
    const finished help = run({"--help"});
    CHECK(help.status == 0);
    for (const char* verb : {"serve", "put", "get", "stat", "ls", "rm", "status"}) {
        CAPTURE(verb);
        CHECK(help.output.find(verb) != std::string::npos);
        const finished one = run({verb, "--help"});
        CHECK(one.status == 0);
        CHECK(one.output.find("--data") != std::string::npos);
    }
    CHECK(run({"--version"}).output.starts_with("cairn "));
}

TEST_CASE("program: options come from the command line, the config file and the environment") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string data = dir / "from-config";
    const std::string config = write_file(
        dir / "config", "data = \"" + data + "\"\nlisten = \"127.0.0.1:1\"\njson = true\n");
    const std::string file = write_file(dir / "file", "hello");
    CHECK(run({"put", file, "--config", config}).output.starts_with("{"));
    CHECK(fs::exists(data));
    CHECK(run({"ls"}, {}, {"CAIRN_DATA=" + data}).output == id_of("hello") + " 5\n");
    CHECK(run({"ls", "--data", dir / "other"}, {}, {"CAIRN_DATA=" + data}).output.empty());
    CHECK(run({"ls", "--data", data}, {}, {"CAIRN_JSON=true"}).output.starts_with("{"));
    const finished typo = run({"ls", "--config", write_file(dir / "typo", "dta = \"x\"\n")});
    CHECK(typo.status == 2);
    CHECK(typo.errors.find("dta") != std::string::npos);
}

TEST_CASE("serve: SIGTERM finishes what is in flight and ends with 0") {
    if (program_is_missing()) return;
    const temp_dir dir;
    for (const int signal : {SIGTERM, SIGINT}) {
        server_process server(program_under_test(), dir / "served");
        http_client client("127.0.0.1", server.port());
        const std::string bytes = numbered_bytes(500'000 + static_cast<std::size_t>(signal));
        client.send_raw("PUT " + path_of(bytes) +
                        " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                        std::to_string(bytes.size()) + "\r\n\r\n" + bytes.substr(0, 1000));
        std::this_thread::sleep_for(200ms);
        server.program().kill(signal);
        std::this_thread::sleep_for(100ms);
        client.send_raw(bytes.substr(1000));
        CHECK(client.receive().status == 201);
        const auto report = server.program().wait(10s);
        REQUIRE(report.has_value());
        CHECK(report->status == 0);
        CHECK(report->signal == 0);
        CHECK(run({"stat", "--data", dir / "served", id_of(bytes)}).status == 0);
    }
}

TEST_CASE(
    "serve: a client that goes away in the middle of a large answer does not end the server") {
    if (program_is_missing()) return;
    const temp_dir dir;
    server_process server(program_under_test(), dir / "served");
    const std::string bytes = numbered_bytes(20 << 20);
    http_client("127.0.0.1", server.port()).put(path_of(bytes), bytes);
    for (int i = 0; i < 20; ++i) {
        http_client client("127.0.0.1", server.port());
        client.send_raw("GET " + path_of(bytes) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        std::this_thread::sleep_for(5ms);
    }
    CHECK(http_client("127.0.0.1", server.port()).get(path_of(bytes)).body == bytes);
    CHECK(server.stop().status == 0);
}

TEST_CASE(
    "serve: stored bytes that rot never arrive whole, are told as quarantined, and a put heals "
    "them") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string bytes = numbered_bytes(300'000);
    const std::string path = path_of(bytes);
    // In the first window the answer can still become a 404; in a later one the connection is cut.
    for (const std::size_t rotten : {std::size_t{10'000}, std::size_t{250'000}}) {
        CAPTURE(rotten);
        const fs::path data = dir / std::to_string(rotten);
        {
            server_process server(program_under_test(), data);
            CHECK(http_client("127.0.0.1", server.port()).put(path, bytes).status == 201);
            CHECK(server.stop().status == 0);
        }
        flip_stored_byte(data, bytes, rotten);

        server_process server(program_under_test(), data);
        const auto client = [&] { return http_client("127.0.0.1", server.port()); };
        if (rotten < window_bytes) {
            CHECK(client().get(path).status == 404);
        } else {
            CHECK_THROWS_AS(client().get(path), connection_lost);
        }
        const http_response gone = client().get(path);
        CHECK(gone.status == 404);
        CHECK(gone.body.find("\"quarantined\"") != std::string::npos);
        CHECK(client().head(path).status == 404);
        CHECK(client().get("/blobs").body.find("\"blobs\":[]") != std::string::npos);
        CHECK(client().put(path, bytes).status == 201);
        CHECK(client().get(path).body == bytes);
        CHECK(server.stop().status == 0);
    }
}

TEST_CASE("curl: puts with Expect, ranges, and resumes a download") {
    if (program_is_missing()) return;
    const temp_dir dir;
    server_process server(program_under_test(), dir / "served");
    const std::string bytes = numbered_bytes(5 << 20);
    const std::string file = write_file(dir / "file", bytes);
    const std::string url = url_of(server) + path_of(bytes);
    const auto curl = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"curl", "--silent", "--show-error", "--max-time", "20"});
        process child(words);
        child.close_input();
        const std::string output = child.read_all();
        const auto report = child.wait(30s);
        CHECK(report->status == 0);
        return output;
    };
    CHECK(curl({"-T", file, "-o", "/dev/null", "-w", "%{http_code} %{num_connects}", url}) ==
          "201 1");
    const auto begin = std::chrono::steady_clock::now();
    CHECK(curl({"-T", file, "-o", "/dev/null", "-w", "%{http_code} %{size_upload}", url}) ==
          "200 0");
    CHECK(std::chrono::steady_clock::now() - begin <
          900ms);  // a silent server costs curl one second
    CHECK(curl({url}) == bytes);
    CHECK(curl({"-r", "10-19", url}) == bytes.substr(10, 10));
    const std::string part = write_file(dir / "part", bytes.substr(0, 1'000'000));
    curl({"-C", "-", "-o", part, url});
    CHECK(read_file(part) == bytes);
    CHECK(curl({"-I", "-o", "/dev/null", "-w", "%{http_code}", url}) == "200");
    CHECK(curl({"-H", "Transfer-Encoding: chunked", "-T", file, "-o", "/dev/null", "-w",
                "%{http_code}", url}) == "200");
    CHECK(curl({"-0", url}) == bytes);
    CHECK(curl({"-X", "DELETE", "-o", "/dev/null", "-w", "%{http_code}", url}) == "204");
}

}  // namespace cairn::test
