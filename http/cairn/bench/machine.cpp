#include "http/cairn/bench/machine.hpp"

#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace cairn::bench {
namespace {

std::string cpu_model() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
    }
    return "unknown";
}

// The type of the mount with the longest path that holds the folder.
std::string file_system_of(const std::filesystem::path& folder) {
    const std::string at = std::filesystem::absolute(folder).string();
    std::ifstream in("/proc/self/mounts");
    std::string best;
    std::string type = "unknown";
    for (std::string line; std::getline(in, line);) {
        std::istringstream fields(line);
        std::string device;
        std::string path;
        std::string kind;
        fields >> device >> path >> kind;
        if (at.rfind(path, 0) != 0 || path.size() < best.size()) continue;
        best = path;
        type = kind;
    }
    return type;
}

}  // namespace

machine this_machine(const std::filesystem::path& folder) {
    utsname kernel{};
    ::uname(&kernel);
    return {cpu_model(), std::thread::hardware_concurrency(), kernel.release,
            file_system_of(folder)};
}

double sync_rate(const std::filesystem::path& folder) {
    using clock = std::chrono::steady_clock;
    const auto path = folder / "sync-rate";
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) throw std::runtime_error("cannot write to " + folder.string());
    const char bytes[256] = {};
    std::size_t count = 0;
    const auto began = clock::now();
    while (clock::now() < began + std::chrono::milliseconds(200)) {
        if (::write(file, bytes, sizeof bytes) != sizeof bytes || ::fdatasync(file) != 0) break;
        ++count;
    }
    const double seconds = std::chrono::duration<double>(clock::now() - began).count();
    ::close(file);
    std::filesystem::remove(path);
    return static_cast<double>(count) / seconds;
}

}  // namespace cairn::bench
