#include "http/cairn/bench/postgres_cluster.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <pwd.h>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cairn::bench {
namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

constexpr std::array<const char*, 6> settings{
    "fsync=on",         "synchronous_commit=on", "shared_buffers=512MB",
    "max_wal_size=4GB", "wal_buffers=64MB",      "checkpoint_timeout=30min",
};

bool has_programs(const fs::path& folder) {
    return ::access((folder / "initdb").c_str(), X_OK) == 0 &&
           ::access((folder / "postgres").c_str(), X_OK) == 0 &&
           ::access((folder / "pgbench").c_str(), X_OK) == 0;
}

// The newest of Debian's, which are not in the PATH.
fs::path find_programs() {
    std::map<int, fs::path> found;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", missing)) {
        const int version = std::atoi(entry.path().filename().c_str());
        if (version >= 15 && has_programs(entry.path() / "bin"))
            found[version] = entry.path() / "bin";
    }
    if (!found.empty()) return found.rbegin()->second;
    return has_programs("/usr/local/bin") ? "/usr/local/bin" : fs::path();
}

// Who may run the server when we are root.
const passwd* server_user() {
    if (::geteuid() != 0) return nullptr;
    const passwd* const postgres = ::getpwnam("postgres");
    return postgres != nullptr ? postgres : ::getpwnam("nobody");
}

words as_server_user(const words& command) {
    words all{"setpriv", "--pdeathsig", "QUIT"};
    if (const passwd* const user = server_user()) {
        all.insert(all.end(), {"--reuid", std::to_string(user->pw_uid), "--regid",
                               std::to_string(user->pw_gid), "--clear-groups"});
    }
    all.push_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

void give_to_server_user(const fs::path& folder) {
    const passwd* const user = server_user();
    if (user != nullptr && ::chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0) {
        throw std::runtime_error("cannot give " + folder.string() + " to " + user->pw_name);
    }
}

fs::path make_socket_folder() {
    char path[] = "/tmp/cairn-bench-XXXXXX";
    if (::mkdtemp(path) == nullptr) throw std::runtime_error("cannot make a folder in /tmp");
    return path;
}

// Line 1 of postmaster.pid is the server's id, line 8 what it does.
bool says_ready(const fs::path& pid_file, pid_t id) {
    std::ifstream file(pid_file);
    std::string line;
    if (!std::getline(file, line) || line != std::to_string(id)) return false;
    for (int number = 2; number <= 8; ++number) {
        if (!std::getline(file, line)) return false;
    }
    return line.starts_with("ready");
}

}  // namespace

std::shared_ptr<postgres_cluster> postgres_cluster::beside(const fs::path& folder) {
    static std::weak_ptr<postgres_cluster> running;
    auto shared = running.lock();
    if (!shared) {
        shared =
            std::make_shared<postgres_cluster>(fs::absolute(folder).parent_path() / "postgres");
        running = shared;
    }
    return shared;
}

bool postgres_cluster::is_installed() { return !find_programs().empty(); }

std::string postgres_cluster::settings_text() {
    static const std::string text = [] {
        std::string all = output_of({program("postgres"), "--version"});
        while (!all.empty() && all.back() == '\n') all.pop_back();
        for (const char* each : settings) all.append(", ").append(each);
        return all;
    }();
    return text;
}

std::string postgres_cluster::program(const char* name) { return find_programs() / name; }

postgres_cluster::postgres_cluster(const fs::path& folder)
    : folder_(folder), socket_(make_socket_folder()) {
    fs::create_directories(folder_);
    give_to_server_user(folder_);
    give_to_server_user(socket_);
    // The scratch folder is ours alone; others have to pass through it.
    fs::permissions(folder_.parent_path(), fs::perms::others_exec, fs::perm_options::add);
    output_of(as_server_user({program("initdb"), "--no-sync", "--auth=trust", "--username=cairn",
                              "--locale=C.UTF-8", "--encoding=UTF8",
                              "--pgdata=" + (folder_ / "data").string()}));
    start();
}

postgres_cluster::~postgres_cluster() {
    server_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    fs::remove_all(socket_, ignored);
}

void postgres_cluster::start() {
    words command{program("postgres"), "-D", (folder_ / "data").string(), "-k", socket_.string()};
    command.insert(command.end(), {"-c", "listen_addresses="});
    for (const char* each : settings) command.insert(command.end(), {"-c", each});
    // Fast shutdown would write out what is thrown away; immediate does not.
    server_.emplace(as_server_user(command), -1, SIGQUIT);
    for (int i = 0; i < 3000 && !server_->has_ended(); ++i) {
        if (says_ready(folder_ / "data/postmaster.pid", server_->id())) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw std::runtime_error("PostgreSQL does not start in " + folder_.string());
}

std::string postgres_cluster::create_database(const std::string& name) {
    output_of({program("psql"), "-X", "-q", "-d", url_of("postgres"), "-c",
               "DROP DATABASE IF EXISTS " + name, "-c", "CREATE DATABASE " + name});
    return url_of(name);
}

std::string postgres_cluster::url_of(const std::string& database) const {
    return "postgresql:///" + database + "?host=" + socket_.string() + "&user=cairn";
}

}  // namespace cairn::bench
