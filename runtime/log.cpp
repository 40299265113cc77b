#include "runtime/log.hpp"

#include <memory>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace cairn {
namespace {

spdlog::level::level_enum spdlog_level(log_level level) noexcept {
    switch (level) {
        case log_level::debug: return spdlog::level::debug;
        case log_level::info: return spdlog::level::info;
        case log_level::warn: return spdlog::level::warn;
        case log_level::error: return spdlog::level::err;
        case log_level::off: return spdlog::level::off;
    }
    return spdlog::level::info;
}

std::shared_ptr<spdlog::logger> make_logger() {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %v");
    auto logger = std::make_shared<spdlog::logger>("cairn", std::move(sink));
    logger->set_level(spdlog::level::info);
    return logger;
}

// Kept for the life of the process: threads may log until the very end.
spdlog::logger& logger() {
    static const auto* const instance = new std::shared_ptr<spdlog::logger>(make_logger());
    return **instance;
}

}  // namespace

void set_log_level(log_level level) noexcept { logger().set_level(spdlog_level(level)); }

bool log_enabled(log_level level) noexcept { return logger().should_log(spdlog_level(level)); }

void write_log(log_level level, std::string_view component, std::string_view text) {
    logger().log(spdlog_level(level), "{} {}", component, text);
}

std::string printable(std::string_view foreign) {
    static constexpr std::size_t size_max = 256;
    std::string text;
    for (const char c : foreign.substr(0, size_max)) {
        const auto value = static_cast<unsigned char>(c);
        const bool plain = value >= 0x20 && value < 0x7f && c != '\\';
        text += plain ? std::string(1, c) : fmt::format("\\x{:02x}", value);
    }
    if (foreign.size() > size_max) text += "...";
    return text;
}

}  // namespace cairn
