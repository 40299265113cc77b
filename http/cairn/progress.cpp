#include "http/cairn/progress.hpp"

#include "http/cairn/units.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace cairn::program {
namespace {

using clock = std::chrono::steady_clock;

// What is over before that needs no bar.
constexpr auto patience = std::chrono::milliseconds(300);
constexpr auto interval = std::chrono::milliseconds(100);
constexpr std::size_t bar_width = 30;

}  // namespace

progress::progress(std::string name, std::optional<std::uint64_t> total_bytes, bool wanted)
    : progress([name = std::move(name)] { return name; }, total_bytes, wanted) {}

progress::progress(label what, std::optional<std::uint64_t> total_bytes, bool wanted)
    : label_(std::move(what)),
      total_(total_bytes),
      shown_(wanted && ::isatty(STDERR_FILENO) == 1),
      begin_(clock::now()),
      next_(begin_ + patience) {}

progress::~progress() { wipe(); }

void progress::add(std::uint64_t bytes) {
    added_ += bytes;
    draw_if_due();
}

void progress::skip(std::uint64_t bytes) {
    skipped_ += bytes;
    draw_if_due();
}

void progress::wipe() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
    drawn_ = false;
}

void progress::draw_if_due() {
    if (!shown_ || clock::now() < next_) return;
    next_ = clock::now() + interval;
    draw();
}

void progress::draw() {
    const double seconds = std::chrono::duration<double>(clock::now() - begin_).count();
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(added_) / seconds);
    const std::uint64_t count = added_ + skipped_;
    std::string line = label_() + "  ";
    if (total_ && *total_ > 0) {
        const double share =
            std::min(1.0, static_cast<double>(count) / static_cast<double>(*total_));
        const auto full = static_cast<std::size_t>(share * bar_width);
        line += fmt::format("[{}{}] {:3.0f} %  {} of {}", std::string(full, '#'),
                            std::string(bar_width - full, ' '), share * 100, format_size(count),
                            format_size(*total_));
    } else {
        line += format_size(count);
    }
    line += fmt::format("  {}/s", format_size(rate));
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
    drawn_ = true;
}

}  // namespace cairn::program
