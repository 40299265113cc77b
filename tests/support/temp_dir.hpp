// A directory of its own for one test, removed with everything in it when the object goes.
#pragma once

#include <filesystem>
#include <string_view>

namespace cairn::test {

class temp_dir {
public:
    // Made under CAIRN_TEST_DIR, else TMPDIR, else /var/tmp: /tmp is often a memory file system,
    // which a durable store rightly refuses. Throws std::system_error.
    explicit temp_dir(std::string_view prefix = "cairn-test");
    ~temp_dir();
    temp_dir(const temp_dir&) = delete;
    temp_dir& operator=(const temp_dir&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path operator/(const std::filesystem::path& name) const {
        return path_ / name;
    }

private:
    std::filesystem::path path_;
};

}  // namespace cairn::test
