// Programs that a test starts, kills and waits for, as a supervisor would.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace cairn::test {

// How a process ended: by itself, with a status, or by a signal.
struct exit_report {
    int status = -1;  // meaningless when `signal` is not 0
    int signal = 0;
};

// One child process. Its standard output and standard input are pipes to this object; its standard
// error is ours.
//
// One thread at a time, but for kill(), which any thread may call while no other destroys or waits
// for the object. The destructor kills and reaps what still runs, so no test leaves a process
// behind.
class process {
public:
    // Throws std::system_error when the program cannot be started. `environment` is added to ours,
    // as "NAME=value".
    explicit process(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment = {});
    ~process();
    process(process&& other) noexcept;
    process& operator=(process&&) = delete;

    pid_t id() const { return pid_; }

    // The next line of its standard output without the newline; nothing at the end of the output or
    // after `patience`.
    std::optional<std::string> read_line(std::chrono::milliseconds patience);
    // Everything until the end of its standard output.
    std::string read_all();

    // Writes to its standard input; false once the child no longer reads.
    bool write(std::string_view bytes);
    void close_input();

    void kill(int signal);
    // Reaps it; nothing when it still runs after `patience`. Later calls repeat the report.
    std::optional<exit_report> wait(std::chrono::milliseconds patience);

private:
    bool read_more(std::chrono::milliseconds patience);

    pid_t pid_ = -1;
    int input_ = -1;
    int output_ = -1;
    std::string received_;
    std::optional<exit_report> report_;
};

// The program under test, `cairn serve` on a free loopback port.
class server_process {
public:
    // Starts it on a folder, or on a postgresql:// URL, and waits for its `listening on
    // http://HOST:PORT` line; throws std::runtime_error when that does not come within `patience`.
    server_process(const std::string& program,
                   const std::string& place,
                   const std::vector<std::string>& options = {},
                   std::chrono::milliseconds patience = std::chrono::seconds(30));

    std::uint16_t port() const { return port_; }
    // From the start of the program to its `listening` line: the time a client would have seen it
    // unready.
    std::chrono::milliseconds start_time() const { return start_time_; }
    process& program() { return process_; }

    // SIGKILL, then reap.
    void kill_hard();
    // SIGTERM, then wait for the drain; throws std::runtime_error when it takes longer than
    // `patience`.
    exit_report stop(std::chrono::milliseconds patience = std::chrono::seconds(30));

private:
    process process_;
    std::uint16_t port_ = 0;
    std::chrono::milliseconds start_time_{0};
};

// What CAIRN_PROGRAM names: the `cairn` program that fault tests run. Throws std::runtime_error
// when it is not set.
std::string program_under_test();

}  // namespace cairn::test
