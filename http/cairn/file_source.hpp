// A file, or standard input, as the body of a put.
#pragma once

#include "engines/source.hpp"
#include "http/cairn/progress.hpp"
#include "runtime/runtime.hpp"

#include <optional>
#include <string>

namespace cairn::program {

class file_source final : public source {
public:
    // Opens the file, or takes standard input for "-"; throws std::system_error. Regular files have
    // a known size. The runtime outlives it.
    file_source(runtime& threads, const std::string& path, bool show_progress);
    ~file_source() override;
    file_source(const file_source&) = delete;
    file_source& operator=(const file_source&) = delete;

    std::optional<std::uint64_t> size() const override { return size_; }

    // Reads on a blocking thread; errors of the system. Cancelled: completes.
    awaitable<result<buffer>> next() override;

private:
    runtime& threads_;
    int descriptor_;
    std::optional<std::uint64_t> size_;
    progress progress_;
};

}  // namespace cairn::program
