// A bar on standard error for work that takes long; nothing where no terminal is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace cairn::program {

class progress {
public:
    // `total_bytes` may be unknown. With `wanted` false it never shows.
    progress(std::string label, std::optional<std::uint64_t> total_bytes, bool wanted);
    // Wipes the bar.
    ~progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    void add(std::uint64_t bytes);

private:
    void draw();

    const std::string label_;
    const std::optional<std::uint64_t> total_;
    const bool shown_;
    bool drawn_ = false;
    std::uint64_t count_ = 0;
    const std::chrono::steady_clock::time_point begin_;
    std::chrono::steady_clock::time_point next_;
};

}  // namespace cairn::program
