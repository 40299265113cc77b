// `cairn copy` between folders and servers, to its end and killed on the way.
#include "http/json_fields.hpp"
#include "tests/http/program.hpp"
#include "tests/http/served.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/postgres_server.hpp"

#include <boost/json/parse.hpp>
#include <csignal>
#include <sstream>
#include <thread>

namespace cairn::test {
namespace {

using namespace std::chrono_literals;

// Puts `count` files of random bytes into a folder's store, without asking a server.
std::vector<std::string> put_files(const temp_dir& dir,
                                   const std::string& store,
                                   std::size_t count,
                                   std::size_t size_bytes) {
    std::vector<std::string> words{"put", "--data", store};
    for (std::size_t i = 0; i < count; ++i) {
        const buffer body = random_body(size_bytes + i, i);
        words.push_back(write_file(dir / ("file" + std::to_string(i)), body.text()));
    }
    const finished put = run(words);
    REQUIRE(put.status == 0);
    std::vector<std::string> ids;
    std::istringstream lines(put.output);
    for (std::string id; std::getline(lines, id);) ids.push_back(id);
    return ids;
}

std::string list_of(const std::string& folder) { return run({"ls", "--data", folder}).output; }

finished copy(const std::string& from, const std::string& to) {
    return run({"copy", "--from", from, "--to", to, "--json"});
}

// One number of the summary, which is the last line.
std::uint64_t number_of(const finished& copied, std::string_view group, std::string_view name) {
    const std::string& text = copied.output;
    const auto line = text.rfind('\n', text.size() - 2) + 1;
    const auto summary = boost::json::parse(std::string_view(text).substr(line)).as_object();
    return number_at(summary.at(group).as_object(), name);
}

}  // namespace

TEST_CASE("cairn copy: folder to server to folder, and the same again moves nothing") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string first = dir / "first";
    const std::string last = dir / "last";
    put_files(dir, first, 20, 30'000);
    put_files(dir, last, 3, 30'000);
    run({"put", "--data", last, "-"}, "only at the end");
    {
        server_process middle(program_under_test(), dir / "middle");
        const finished in = copy(first, url_of(middle));
        CHECK(in.status == 0);
        CHECK(in.errors == "");
        CHECK(number_of(in, "copied", "blobs") == 20);
        const finished again = copy(first, url_of(middle));
        CHECK(again.status == 0);
        CHECK(number_of(again, "copied", "blobs") == 0);
        CHECK(number_of(again, "present", "blobs") == 20);

        const finished out = copy("127.0.0.1:" + std::to_string(middle.port()), last);
        CHECK(out.status == 0);
        CHECK(number_of(out, "copied", "blobs") == 17);
        CHECK(number_of(out, "present", "blobs") == 3);
    }
    CHECK(list_of(dir / "middle") == list_of(first));
    CHECK(list_of(last) != list_of(first));
    const finished back = run({"copy", "--from", last, "--to", first});
    CHECK(back.status == 0);
    CHECK(back.output.find("copied       1 blob (15 B)") != std::string::npos);
    CHECK(list_of(last) == list_of(first));
}

TEST_CASE("cairn copy: a folder moves to PostgreSQL, and to another folder from there") {
    if (program_is_missing() || no_postgres()) return;
    const temp_dir dir;
    const std::string first = dir / "first";
    const std::string last = dir / "last";
    put_files(dir, first, 30, 40'000);  // in rows of the database
    put_files(dir, first, 3, 3 << 20);  // in chunks
    postgres_server& server = postgres_server::shared();
    const std::string middle = server.url(server.fresh_database());
    const finished in = copy(first, middle);
    CHECK(in.status == 0);
    CHECK(number_of(in, "copied", "blobs") == 33);
    CHECK(number_of(copy(first, middle), "present", "blobs") == 33);
    CHECK(copy(middle, last).status == 0);
    CHECK(run({"ls", "--catalog", middle}).output == list_of(first));
    CHECK(list_of(last) == list_of(first));
}

TEST_CASE("cairn copy: killed on its way, it goes on where it ended") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string from = dir / "from";
    put_files(dir, from, 40, 2 << 20);
    server_process to(program_under_test(), dir / "to");
    process first(
        {program_under_test(), "copy", "--from", from, "--to", url_of(to), "--in-flight", "2"});
    while (run({"ls", "--server", url_of(to)}).output.empty()) std::this_thread::sleep_for(1ms);
    first.kill(SIGKILL);
    REQUIRE(first.wait(10s));

    const finished rest = copy(from, url_of(to));
    CHECK(rest.status == 0);
    CHECK(number_of(rest, "present", "blobs") > 0);
    CHECK(number_of(rest, "copied", "blobs") > 0);
    CHECK(run({"ls", "--server", url_of(to)}).output == list_of(from));
}

TEST_CASE("cairn copy: a blob whose bytes are bad is named and left behind, the others come over") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string from = dir / "from";
    const std::string to = dir / "to";
    const auto ids = put_files(dir, from, 5, 200'000);
    flip_stored_byte(from, read_file(dir / "file3"), 150'000);
    const finished copied = copy(from, to);
    CHECK(copied.status == 1);
    CHECK(copied.errors.find(ids[3]) != std::string::npos);
    CHECK(copied.output.find("{\"id\":\"" + ids[3]) == 0);
    CHECK(number_of(copied, "copied", "blobs") == 4);
    CHECK(run({"stat", "--data", to, ids[0], ids[1], ids[2], ids[4]}).status == 0);

    const finished again = copy(from, to);  // it is known to be bad, and not forgotten
    CHECK(again.status == 1);
    CHECK(again.errors.find("1 blob of the source: quarantined") != std::string::npos);

    run({"put", "--data", from, dir / "file3"});
    CHECK(copy(from, to).status == 0);
    CHECK(list_of(to) == list_of(from));
}

TEST_CASE("cairn copy: a store that cannot be what was meant is refused, and nothing is made") {
    if (program_is_missing()) return;
    const temp_dir dir;
    const std::string here = dir / "here";
    put_files(dir, here, 1, 100);
    const std::string nowhere = dir / "nowhere";
    CHECK(copy(nowhere, here).status == 1);
    CHECK_FALSE(std::filesystem::exists(nowhere));
    CHECK(copy(here, here + "/../here").status == 2);
    CHECK(copy(here, "https://example.org").status == 2);
    CHECK(copy(here, "http://127.0.0.1:1").status == 3);
    CHECK(copy("http://127.0.0.1:1", nowhere).status == 3);
    CHECK_FALSE(std::filesystem::exists(nowhere));
    CHECK(run({"copy", "--from", here}).status == 2);
}

}  // namespace cairn::test
