// A server in a process of its own, so that its processor time can be told from ours.
#pragma once

#include "http/cairn/bench/child_process.hpp"

#include <cstdint>
#include <filesystem>
#include <utility>

namespace cairn::bench {

// Ended when it goes. Throws std::runtime_error when it does not start or answer.
class child_server {
public:
    // `cairn serve` of this very program on `folder`, on a free port.
    static child_server cairn(const std::filesystem::path& folder, std::size_t threads);
    // A server with one thread that keeps everything in memory: serve_memory() of this program.
    static child_server cairn_in_memory();
    // nginx with one worker, sendfile and cached descriptors, serving the files in `folder`. Its
    // answers carry headers as long as cairn's.
    static child_server nginx(const std::filesystem::path& folder);
    // Whether nginx is there to be compared with.
    static bool has_nginx();

    std::uint16_t port() const noexcept { return port_; }
    // Processor time of the process and of its workers so far.
    double cpu_seconds() const;

private:
    static child_server listening(const std::vector<std::string>& command);
    child_server(child_process process, std::uint16_t port)
        : process_(std::move(process)), port_(port) {}

    child_process process_;
    std::uint16_t port_;
};

}  // namespace cairn::bench
