#include "tests/support/temp_dir.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace cairn::test {
namespace {

std::string parent() {
    for (const char* name : {"CAIRN_TEST_DIR", "TMPDIR"})
        if (const char* value = std::getenv(name); value && *value) return value;
    return "/var/tmp";
}

}  // namespace

temp_dir::temp_dir(std::string_view prefix) {
    std::string pattern = parent() + "/" + std::string(prefix) + "-XXXXXX";
    if (!::mkdtemp(pattern.data()))
        throw std::system_error(errno, std::generic_category(), "mkdtemp " + pattern);
    path_ = pattern;
}

temp_dir::~temp_dir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace cairn::test
