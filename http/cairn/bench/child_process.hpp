// A program that runs beside the bench.
#pragma once

#include <csignal>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cairn::bench {

// Ended when it goes: asked to, and waited for.
class child_process {
public:
    // Its standard output goes to `out` when that is a descriptor, its standard error to nobody.
    // Throws std::runtime_error when it cannot be started. `farewell` is the signal that ends it.
    explicit child_process(const std::vector<std::string>& command,
                           int out = -1,
                           int farewell = SIGTERM);
    child_process(child_process&& other) noexcept;
    child_process& operator=(child_process&&) = delete;
    ~child_process();

    pid_t id() const noexcept { return id_; }
    bool has_ended();
    // Waits for its end; whether that was a success.
    bool succeeded();

private:
    pid_t id_ = 0;  // 0: reaped
    int farewell_ = SIGTERM;
};

// What a program writes to its standard output until it ends; throws std::runtime_error when it
// fails.
std::string output_of(const std::vector<std::string>& command);

}  // namespace cairn::bench
