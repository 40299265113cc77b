#include "tests/support/process.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdexcept>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace cairn::test {
namespace {

using clock = std::chrono::steady_clock;

[[noreturn]] void fail(int reason, const std::string& doing) {
    throw std::system_error(reason, std::generic_category(), doing);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> list;
    list.reserve(words.size() + 1);
    for (std::string& word : words) list.push_back(word.data());
    list.push_back(nullptr);
    return list;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& extra) {
    std::vector<std::string> all = extra;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view old = *entry;
        const std::string_view name = old.substr(0, old.find('=') + 1);
        bool replaced = false;
        for (const std::string& added : extra) replaced = replaced || added.starts_with(name);
        if (!replaced) all.emplace_back(old);
    }
    return all;
}

void close_fd(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
}

}  // namespace

process::process(const std::vector<std::string>& command,
                 const std::vector<std::string>& environment) {
    int to_child[2];
    int from_child[2];
    int failed[2];  // carries the errno of an exec that failed; closed by one that worked
    // A socket, not a pipe, towards the child: writing to one that nobody reads need not raise
    // SIGPIPE.
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to_child) != 0)
        fail(errno, "socketpair");
    if (::pipe2(from_child, O_CLOEXEC) != 0 || ::pipe2(failed, O_CLOEXEC) != 0)
        fail(errno, "pipe2");
    std::vector<std::string> words = command;
    std::vector<std::string> variables = merged_environment(environment);
    const std::vector<char*> arguments = pointers(words);
    const std::vector<char*> settings = pointers(variables);

    pid_ = ::fork();
    if (pid_ < 0) fail(errno, "fork");
    if (pid_ == 0) {
        // Only async-signal-safe calls: other threads of the test may hold any lock. The child dies
        // with the thread that made it, so that a test that is killed leaves nothing behind.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(to_child[0], STDIN_FILENO);
        ::dup2(from_child[1], STDOUT_FILENO);
        ::execvpe(arguments[0], arguments.data(), settings.data());
        const int reason = errno;
        if (::write(failed[1], &reason, sizeof reason) < 0) ::_exit(126);
        ::_exit(127);
    }
    ::close(to_child[0]);
    ::close(from_child[1]);
    ::close(failed[1]);
    input_ = to_child[1];
    output_ = from_child[0];
    int reason = 0;
    const ssize_t told = ::read(failed[0], &reason, sizeof reason);
    ::close(failed[0]);
    if (told <= 0) return;
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    close_fd(input_);
    close_fd(output_);
    fail(reason, "start " + command[0]);
}

process::process(process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      received_(std::move(other.received_)),
      report_(std::exchange(other.report_, std::nullopt)) {}

process::~process() {
    close_fd(input_);
    close_fd(output_);
    if (pid_ < 0 || report_) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

bool process::read_more(std::chrono::milliseconds patience) {
    pollfd wanted{output_, POLLIN, 0};
    int ready = 0;
    do ready = ::poll(&wanted, 1, static_cast<int>(patience.count()));
    while (ready < 0 && errno == EINTR);
    if (ready <= 0) return false;
    char window[4096];
    const ssize_t got = ::read(output_, window, sizeof window);
    if (got <= 0) return false;
    received_.append(window, static_cast<std::size_t>(got));
    return true;
}

std::optional<std::string> process::read_line(std::chrono::milliseconds patience) {
    const auto deadline = clock::now() + patience;
    for (;;) {
        if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
            std::string line = received_.substr(0, end);
            received_.erase(0, end + 1);
            return line;
        }
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock::now());
        if (left.count() <= 0 || !read_more(left)) return std::nullopt;
    }
}

std::string process::read_all() {
    while (read_more(std::chrono::hours(1))) {
    }
    return std::exchange(received_, {});
}

bool process::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(input_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void process::close_input() { close_fd(input_); }

void process::kill(int signal) {
    if (pid_ > 0 && !report_) ::kill(pid_, signal);
}

std::optional<exit_report> process::wait(std::chrono::milliseconds patience) {
    const auto deadline = clock::now() + patience;
    while (!report_) {
        int status = 0;
        const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
        if (reaped < 0 && errno != EINTR) fail(errno, "waitpid");
        if (reaped == pid_) {
            report_ = WIFSIGNALED(status) ? exit_report{-1, WTERMSIG(status)}
                                          : exit_report{WEXITSTATUS(status), 0};
        } else if (clock::now() >= deadline) {
            return std::nullopt;
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    return report_;
}

namespace {

std::vector<std::string> serve_command(const std::string& program,
                                       const std::string& place,
                                       const std::vector<std::string>& options) {
    const char* kind = place.starts_with("postgresql://") ? "--catalog" : "--data";
    std::vector<std::string> command{program, "serve", kind, place, "--listen", "127.0.0.1:0"};
    command.insert(command.end(), options.begin(), options.end());
    return command;
}

}  // namespace

server_process::server_process(const std::string& program,
                               const std::string& place,
                               const std::vector<std::string>& options,
                               std::chrono::milliseconds patience)
    : process_(serve_command(program, place, options)) {
    const auto begin = clock::now();
    constexpr std::string_view promise = "listening on http://127.0.0.1:";
    const auto line = process_.read_line(patience);
    if (!line || !line->starts_with(promise)) {
        const auto ended = process_.wait(std::chrono::milliseconds(100));
        throw std::runtime_error(program + " serve: no `listening` line" +
                                 (line ? ", but: " + *line : std::string()) +
                                 (ended ? "; it ended with status " + std::to_string(ended->status)
                                        : "; it still runs"));
    }
    start_time_ = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - begin);
    port_ = static_cast<std::uint16_t>(std::stoul(line->substr(promise.size())));
}

void server_process::kill_hard() {
    process_.kill(SIGKILL);
    if (!process_.wait(std::chrono::seconds(30)))
        throw std::runtime_error("a killed server does not end");
}

exit_report server_process::stop(std::chrono::milliseconds patience) {
    process_.kill(SIGTERM);
    if (const auto report = process_.wait(patience)) return *report;
    throw std::runtime_error("the server still drains after " + std::to_string(patience.count()) +
                             " ms");
}

std::string program_under_test() {
    const char* program = std::getenv("CAIRN_PROGRAM");
    if (!program || !*program) throw std::runtime_error("CAIRN_PROGRAM does not name the program");
    return program;
}

}  // namespace cairn::test
