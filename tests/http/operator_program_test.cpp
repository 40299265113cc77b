// What an operator does with a store besides serving it: verify, backup, rebuild.
#include "http/json_fields.hpp"
#include "tests/http/program.hpp"
#include "tests/http/served.hpp"
#include "tests/support/bodies.hpp"

#include <boost/json/parse.hpp>
#include <fstream>
#include <regex>
#include <set>
#include <thread>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;

boost::json::object object_of(const finished& done) { return parse_object(done.output); }

std::string put_text(const std::string& data, const std::string& text) {
    const finished put = run({"put", "--data", data, "-"}, text);
    REQUIRE(put.status == 0);
    return put.output.substr(0, 64);
}

bool mentions(const std::string& text, std::string_view word) {
    return text.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("cairn verify: a sound store is 0, in place and served") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string data = dir / "store";
    put_text(data, "small");
    put_text(data, numbered_bytes(100'000));
    const finished in_place = run({"verify", "--data", data});
    CHECK(in_place.status == 0);
    CHECK(mentions(in_place.output, "good         2 blobs"));
    server_process server(program_under_test(), data);
    const finished asked = run({"verify", "--server", url_of(server), "--json"});
    CHECK(asked.status == 0);
    CHECK(number_at(object_of(asked), "good") == 2);
}

TEST_CASE("cairn verify: a rotten blob is named and is 1, and one put heals it") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string data = dir / "store";
    const std::string body = numbered_bytes(200'000);
    const std::string id = put_text(data, body);
    put_text(data, "another");
    flip_stored_byte(data, body, 150'000);
    {
        server_process server(program_under_test(), data);
        const finished asked = run({"verify", "--server", url_of(server)});
        CHECK(asked.status == 1);
        CHECK(mentions(asked.errors, id));
        CHECK(mentions(asked.output, "quarantined  1"));
    }
    const finished again = run({"verify", "--data", data});
    CHECK(again.status == 1);
    CHECK(mentions(again.errors, "put a quarantined blob again"));
    put_text(data, body);
    CHECK(run({"verify", "--data", data}).status == 0);
}

TEST_CASE("cairn verify: a damaged catalog is told, with what makes it anew") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string data = dir / "store";
    std::vector<std::string> put{"put", "--data", data};
    for (std::size_t i = 0; i < 200; ++i) {
        put.push_back(write_file(dir / std::to_string(i), numbered_bytes(2000 + i)));
    }
    REQUIRE(run(put).status == 0);
    std::fstream file(dir / "store" / "catalog.db",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20 * 8192);
    file << std::string(8192, '\x33');
    file.close();
    const finished done = run({"verify", "--data", data});
    CHECK(done.status != 0);
    CHECK(mentions(done.errors, "cairn rebuild --data"));
}

TEST_CASE("cairn backup and rebuild: from a running server's backup back to every blob") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string data = dir / "store";
    std::string small, large;
    {
        server_process server(program_under_test(), data);
        http_client client("127.0.0.1", server.port());
        small = id_of("small");
        CHECK(client.put("/blobs/" + small, "small").status == 201);
        const finished made = run({"backup", "--server", url_of(server), "--json"});
        REQUIRE(made.status == 0);
        CHECK(
            std::filesystem::exists(dir / "store" / "backups" / text_at(object_of(made), "name")));
        const std::string body = numbered_bytes(300'000);
        large = id_of(body);
        CHECK(client.put("/blobs/" + large, body).status == 201);
        CHECK(run({"rebuild", "--data", data}).status == 3);  // it is open
    }
    write_file(dir / "store" / "catalog.db", "no catalog");
    const finished refused = run({"ls", "--data", data});
    CHECK(refused.status == 3);
    CHECK(mentions(refused.errors, "cairn rebuild"));
    const finished rebuilt = run({"rebuild", "--data", data, "--json"});
    REQUIRE(rebuilt.status == 0);
    CHECK(number_at(object_of(rebuilt), "kept") == 1);
    CHECK(number_at(object_of(rebuilt), "recovered") == 1);
    CHECK(run({"get", small, "--data", data}).output == "small");
    CHECK(run({"get", large, "--data", data}).output == numbered_bytes(300'000));
    CHECK(run({"verify", "--data", data}).status == 0);
}

TEST_CASE("cairn rebuild: says what it did for people, and does nothing to a sound store") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string data = dir / "store";
    put_text(data, numbered_bytes(100'000));
    const finished needless = run({"rebuild", "--data", data});
    CHECK(needless.status == 1);
    CHECK(mentions(needless.errors, "--force"));
    const finished forced = run({"rebuild", "--data", data, "--force"});
    CHECK(forced.status == 0);
    CHECK(mentions(forced.output, "recovered    1 blobs"));
    CHECK(mentions(forced.output, "Not back: blobs of at most 4 KiB"));
}

TEST_CASE("cairn verify, backup, rebuild: wrong uses are 2 and make no store") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string nowhere = dir / "nowhere";
    for (const char* verb : {"verify", "backup", "rebuild"}) {
        CAPTURE(verb);
        const finished done = run({verb, "--data", nowhere});
        CHECK(done.status == 2);
        CHECK(mentions(done.errors, "no store is there"));
        CHECK_FALSE(std::filesystem::exists(dir / "nowhere"));
    }
    CHECK(run({"rebuild"}).status == 2);
    put_text(dir / "store", "x");
    CHECK(run({"rebuild", "--data", dir / "store", "--from", dir / "none"}).status == 2);
}

TEST_CASE("man page: it names every verb and every option that --help does") {
    if (program_is_missing()) return;
    std::string page = read_file("http/cairn/cairn.1");
    std::erase(page, '\\');
    const auto words_of = [](const std::string& text, const std::regex& form) {
        std::set<std::string> words;
        for (std::sregex_iterator it(text.begin(), text.end(), form), end; it != end; ++it) {
            words.insert((*it)[1]);
        }
        return words;
    };
    const std::string all = run({"--help"}).output;
    const auto verbs = words_of(all.substr(all.find("Subcommands")), std::regex("\n  (\\w+)"));
    CHECK(verbs.size() >= 12);
    for (const std::string& verb : verbs) {
        CAPTURE(verb);
        CHECK(mentions(page, "\n.B " + verb + "\n"));
        const std::string help = run({verb, "--help"}).output;
        for (const std::string& option : words_of(help, std::regex("(--[a-z-]+)[ ,=]"))) {
            CAPTURE(option);
            CHECK(mentions(page, option));
        }
    }
}

TEST_CASE("serve: backups come by themselves, and --verify always serves the same bytes") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string body = numbered_bytes(1 << 20);
    server_process server(program_under_test(), dir / "store",
                          {"--backup-every", "1s", "--verify", "always"});
    http_client client("127.0.0.1", server.port());
    const std::string target = "/blobs/" + id_of(body);
    CHECK(client.put(target, body).status == 201);
    for (int i = 0; i < 3; ++i) CHECK(client.get(target).body == body);
    const auto has_backup = [&] {
        const auto folder = dir / "store" / "backups";
        if (!std::filesystem::exists(folder)) return false;
        for (const auto& each : std::filesystem::directory_iterator(folder)) {
            if (each.path().extension() == ".db") return true;
        }
        return false;
    };
    for (int i = 0; i < 100 && !has_backup(); ++i) std::this_thread::sleep_for(100ms);
    CHECK(has_backup());
}

}  // namespace cairn::test
