// The program as tests of it use it: run to its end, and what it left behind.
#pragma once

#include "engines/blob_id.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

#include <chrono>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::test {

struct finished {
    int status = -1;
    std::string output;  // standard output
    std::string errors;  // standard error
};

// Runs the program to its end; its standard error goes to a file, as a shell would redirect it.
inline finished run(const std::vector<std::string>& words,
                    std::string_view input = {},
                    const std::vector<std::string>& environment = {}) {
    const temp_dir scratch;
    const std::string errors = scratch / "errors";
    std::vector<std::string> command{"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>" + errors,
                                     program_under_test()};
    command.insert(command.end(), words.begin(), words.end());
    process child(command, environment);
    child.write(input);
    child.close_input();
    finished done;
    done.output = child.read_all();
    const auto report = child.wait(std::chrono::seconds(60));
    REQUIRE(report.has_value());
    CHECK(report->signal == 0);
    done.status = report->status;
    std::ifstream file(errors);
    done.errors.assign(std::istreambuf_iterator<char>(file), {});
    return done;
}

inline std::string id_of(std::string_view bytes) { return blob_id::of(as_bytes(bytes)).hex(); }

inline std::filesystem::path write_file(const std::filesystem::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The sanitizer builds have no program; there is nothing to test here then.
inline bool program_is_missing() {
    if (std::getenv("CAIRN_PROGRAM") != nullptr) return false;
    MESSAGE("skipped: this build has no program (CAIRN_PROGRAM is not set)");
    return true;
}

// Flips one bit of a blob where it lies in a segment.
inline void flip_stored_byte(const std::filesystem::path& data,
                             const std::string& bytes,
                             std::size_t offset) {
    for (const auto& entry : std::filesystem::directory_iterator(data / "segments")) {
        std::string stored = read_file(entry.path());
        const std::size_t at = stored.find(bytes.substr(0, 64));
        if (at == std::string::npos) continue;
        std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(at + offset));
        file.put(static_cast<char>(stored[at + offset] ^ 1));
        return;
    }
    FAIL("the blob is in no segment");
}

inline std::string url_of(const server_process& server) {
    return "http://127.0.0.1:" + std::to_string(server.port());
}

}  // namespace cairn::test
