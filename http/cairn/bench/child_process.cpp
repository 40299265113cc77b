#include "http/cairn/bench/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace cairn::bench {
namespace {

pid_t start(const std::vector<std::string>& command, int out) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (out >= 0) posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t process = 0;
    const int code = posix_spawnp(&process, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) throw std::runtime_error("cannot start " + command[0]);
    return process;
}

}  // namespace

child_process::child_process(const std::vector<std::string>& command, int out, int farewell)
    : id_(start(command, out)), farewell_(farewell) {}

child_process::child_process(child_process&& other) noexcept
    : id_(std::exchange(other.id_, 0)), farewell_(other.farewell_) {}

child_process::~child_process() {
    if (id_ == 0) return;
    ::kill(id_, farewell_);
    ::waitpid(id_, nullptr, 0);
}

bool child_process::has_ended() {
    if (id_ != 0 && ::waitpid(id_, nullptr, WNOHANG) == id_) id_ = 0;
    return id_ == 0;
}

bool child_process::succeeded() {
    int status = 0;
    const bool reaped = id_ != 0 && ::waitpid(id_, &status, 0) == id_;
    id_ = 0;
    return reaped && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string output_of(const std::vector<std::string>& command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
    child_process running(command, ends[1]);
    ::close(ends[1]);
    std::string output;
    char window[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], window, sizeof window)) > 0;) {
        output.append(window, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    if (!running.succeeded()) throw std::runtime_error(command[0] + " failed");
    return output;
}

}  // namespace cairn::bench
