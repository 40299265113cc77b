// A bar on standard error for work that takes long; nothing where no terminal is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cairn::program {

class progress {
public:
    // Asked each time that the bar is drawn.
    using label = std::function<std::string()>;

    // `total_bytes` may be unknown. With `wanted` false it never shows.
    progress(std::string name, std::optional<std::uint64_t> total_bytes, bool wanted);
    progress(label what, std::optional<std::uint64_t> total_bytes, bool wanted);
    ~progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    void add(std::uint64_t bytes);
    // Bytes that were done before: they count towards the total, not towards the speed.
    void skip(std::uint64_t bytes);
    // Takes the bar off the terminal, for a line of text; it comes back by itself.
    void wipe();

private:
    void draw_if_due();
    void draw();

    const label label_;
    const std::optional<std::uint64_t> total_;
    const bool shown_;
    bool drawn_ = false;
    std::uint64_t added_ = 0;
    std::uint64_t skipped_ = 0;
    const std::chrono::steady_clock::time_point begin_;
    std::chrono::steady_clock::time_point next_;
};

}  // namespace cairn::program
