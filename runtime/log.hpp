// Log lines on standard error: `I http req=51 GET /blobs/9f3a status=200 bytes=4096 us=311`.
//
// One line, key=value, written by the layer that decides; who returns an error does not log it too.
// info: lifecycle. warn: degraded. error: data at risk. debug is skipped by one level test.
// Safe from any thread; lines are whole.
#pragma once

#include <fmt/core.h>
#include <string>
#include <string_view>
#include <utility>

namespace cairn {

enum class log_level { debug, info, warn, error, off };

void set_log_level(log_level level) noexcept;
bool log_enabled(log_level level) noexcept;
void write_log(log_level level, std::string_view component, std::string_view text);

// Escapes control characters and cuts at 256 bytes: for text that came from outside.
std::string printable(std::string_view foreign);

template <class... Args>
void log_debug(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
    if (!log_enabled(log_level::debug)) return;
    write_log(log_level::debug, component, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_info(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
    if (!log_enabled(log_level::info)) return;
    write_log(log_level::info, component, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_warn(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
    if (!log_enabled(log_level::warn)) return;
    write_log(log_level::warn, component, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_error(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
    if (!log_enabled(log_level::error)) return;
    write_log(log_level::error, component, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace cairn
