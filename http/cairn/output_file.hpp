// Where `cairn get` writes: standard output, or a file that appears only when it is complete.
#pragma once

#include "runtime/bytes.hpp"
#include "runtime/result.hpp"

#include <string>

namespace cairn::program {

class output_file {
public:
    // Empty or "-": standard output. Else a file beside `path` that commit() renames to it; throws
    // std::system_error when it cannot be made.
    explicit output_file(std::string path);
    // Removes what was not committed.
    ~output_file();
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;

    // Blocks.
    result<void> write(byte_view bytes);
    result<void> commit();

    bool is_standard_output() const noexcept { return path_.empty(); }

private:
    std::string path_;
    std::string partial_;
    int descriptor_;
};

}  // namespace cairn::program
