// The program where io_uring is refused. The contract and HTTP suites run there too, as ctest
// entries of their own (tests/CMakeLists.txt).
#include "engines/blob_id.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <string>
#include <vector>

namespace cairn::test {
namespace {

std::vector<std::string> lines_about(const std::string& word, const std::string& file) {
    std::vector<std::string> found;
    std::ifstream all(file);
    for (std::string line; std::getline(all, line);)
        if (line.find(word) != std::string::npos) found.push_back(line);
    return found;
}

}  // namespace

TEST_CASE("without io_uring: the program says so in one line, and serves") {
    for (const std::string how : {"EPERM", "ENOSYS"}) {
        CAPTURE(how);
        const temp_dir folder;
        const std::string log = folder / "log";
        process server({std::getenv("CAIRN_WITHOUT_IO_URING"), how, "/bin/sh", "-c",
                        "exec \"$0\" \"$@\" 2>" + log, program_under_test(), "serve", "--data",
                        folder / "data", "--listen", "127.0.0.1:0"});
        const auto line = server.read_line(std::chrono::seconds(30));
        REQUIRE(line.has_value());
        const auto port = std::stoul(line->substr(line->rfind(':') + 1));
        http_client client("127.0.0.1", static_cast<std::uint16_t>(port));
        const std::string body(100'000, 'b');
        const std::string target = "/blobs/" + blob_id::of(as_bytes(body)).hex();
        CHECK(client.put(target, body).status == 201);
        CHECK((client.get(target).body == body));
        server.kill(SIGTERM);
        const auto ended = server.wait(std::chrono::seconds(30));
        REQUIRE(ended.has_value());
        CHECK(ended->status == 0);
        const auto said = lines_about("io_uring", log);
        REQUIRE(said.size() == 1);
        CHECK(said[0].find("using the thread pool") != std::string::npos);
    }
}

}  // namespace cairn::test
