#include "tests/support/postgres_server.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using words = std::vector<std::string>;

constexpr std::string_view superuser = "cairn";
constexpr int oldest_version = 15;

bool has_server(const fs::path& folder) {
    return ::access((folder / "initdb").c_str(), X_OK) == 0 &&
           ::access((folder / "postgres").c_str(), X_OK) == 0;
}

// The version that Debian's /usr/lib/postgresql/<version> is named for; 0 for anything else.
int version_of(const fs::path& folder) { return std::atoi(folder.filename().c_str()); }

// Where initdb and postgres are: Debian keeps every version in a folder of its own, off the PATH.
fs::path find_programs() {
    fs::path best;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", missing)) {
        const int version = version_of(entry.path());
        if (version >= oldest_version && has_server(entry.path() / "bin") &&
            (best.empty() || version > version_of(best.parent_path())))
            best = entry.path() / "bin";
    }
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path ? path : "");
    for (std::string folder; best.empty() && std::getline(folders, folder, ':');)
        if (!folder.empty() && has_server(folder)) best = folder;
    return best;
}

std::string program(const char* name) {
    static const fs::path folder = find_programs();
    if (folder.empty()) throw std::runtime_error("no PostgreSQL 15 or later is installed");
    return folder / name;
}

// Who runs the servers; nobody in particular unless we are root.
const passwd* server_user() {
    if (::geteuid() != 0) return nullptr;
    for (const char* name : {"postgres", "nobody"})
        if (const passwd* const found = ::getpwnam(name)) return found;
    throw std::runtime_error("neither postgres nor nobody is a user here");
}

// The command as that user. setpriv becomes the program, so its id is the process's own; changing
// users forgets whose death shall be its end, hence it is said again.
words as_server_user(words command) {
    words all{"setpriv", "--pdeathsig", "QUIT"};
    if (const passwd* const user = server_user())
        all.insert(all.end(), {"--reuid", std::to_string(user->pw_uid), "--regid",
                               std::to_string(user->pw_gid), "--clear-groups"});
    all.push_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

void give_to_server_user(const fs::path& folder) {
    const passwd* const user = server_user();
    if (user && ::chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0)
        throw std::system_error(errno, std::generic_category(), "chown " + folder.string());
}

// Runs a command to its end; what it wrote to standard output.
std::string output_of(const words& command) {
    process running(command);
    running.close_input();
    std::string output = running.read_all();
    const auto ended = running.wait(1min);
    if (!ended || ended->status != 0)
        throw std::runtime_error(command[0] + " ... " + command.back() + " failed");
    while (!output.empty() && output.back() == '\n') output.pop_back();
    return output;
}

// What initdb makes, once per process.
const fs::path& fresh_cluster() {
    static const temp_dir folder("cairn-initdb");
    static const fs::path data = [] {
        give_to_server_user(folder.path());
        output_of(as_server_user({program("initdb"), "--no-sync", "--no-instructions",
                                  "--auth=trust", "--username=" + std::string(superuser),
                                  "--locale=C.UTF-8", "--encoding=UTF8", "--data-checksums",
                                  "--pgdata=" + (folder / "data").string()}));
        return folder / "data";
    }();
    return data;
}

// Free at the moment: nothing holds it until the server does.
std::uint16_t free_port() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    const bool bound = ::bind(socket, name, size) == 0 && ::getsockname(socket, name, &size) == 0;
    const int reason = errno;
    ::close(socket);
    if (!bound) throw std::system_error(reason, std::generic_category(), "find a free port");
    return ntohs(address.sin_port);
}

// Line 1 of postmaster.pid is the server's id, line 8 what it does: that is how pg_ctl waits.
bool says_ready(const fs::path& pid_file, pid_t id) {
    std::ifstream file(pid_file);
    std::string line;
    if (!std::getline(file, line) || line != std::to_string(id)) return false;
    for (int number = 2; number <= 8; ++number)
        if (!std::getline(file, line)) return false;
    return line.starts_with("ready");
}

std::string end_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string all = text.str();
    return all.substr(all.size() - std::min<std::size_t>(all.size(), 1000));
}

std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char each : text) out.append(each == '\'' ? 2 : 1, each);
    return out + "'";
}

constexpr std::string_view client_backends =
    "(SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
    " AND pid <> pg_backend_pid() ORDER BY random() LIMIT ";

}  // namespace

bool no_postgres() {
    if (!find_programs().empty()) return false;
    constexpr const char* why = "no PostgreSQL 15 or later is installed";
    const char* const ci = std::getenv("CI");
    if (ci && std::string_view(ci) == "true") FAIL(why);
    MESSAGE("skipped: " << why);
    return true;
}

postgres_server::postgres_server(postgres_options options)
    : settings_(std::move(options.settings)), port_(options.tcp ? free_port() : 0) {
    give_to_server_user(folder_.path());
    output_of({"cp", "--archive", "--reflink=auto", fresh_cluster().string(),
               (folder_ / "data").string()});
    start();
}

postgres_server::postgres_server(postgres_server& primary, const std::string& name)
    : settings_(primary.settings_),
      port_(primary.port_ == 0 ? 0 : free_port()),
      standby_name_(name) {
    give_to_server_user(folder_.path());
    output_of(as_server_user({program("pg_basebackup"), "--no-sync", "--checkpoint=fast",
                              "--write-recovery-conf", "--wal-method=stream",
                              "--dbname=" + primary.standby_connection(name),
                              "--pgdata=" + (folder_ / "data").string()}));
    start();
}

postgres_server::~postgres_server() {
    if (!process_) return;
    process_->kill(SIGQUIT);
    process_->wait(10s);
}

postgres_server& postgres_server::shared() {
    static postgres_server server;
    return server;
}

std::string postgres_server::url(std::string_view database) const {
    // The socket is named after the port.
    const std::string port = port_ == 0 ? "" : "&port=" + std::to_string(port_);
    return "postgresql:///" + std::string(database) + "?host=" + host() + port +
           "&user=" + std::string(superuser);
}

std::string postgres_server::url_by_port(std::uint16_t port, std::string_view database) const {
    return "postgresql://" + std::string(superuser) + "@127.0.0.1:" + std::to_string(port) + "/" +
           std::string(database);
}

std::string postgres_server::fresh_database() {
    std::string name = "fresh_" + std::to_string(++databases_);
    sql("CREATE DATABASE " + name);
    return name;
}

std::string postgres_server::sql(const std::string& statement, std::string_view database) const {
    return output_of({program("psql"), "--no-psqlrc", "--no-align", "--tuples-only", "--quiet",
                      "--set=ON_ERROR_STOP=1", "--dbname=" + url(database),
                      "--command=" + statement});
}

void postgres_server::set(const std::string& name, const std::string& value) {
    sql("ALTER SYSTEM SET " + name + " = " + quoted(value));
    sql("SELECT pg_reload_conf()");
}

void postgres_server::start() {
    words command{program("postgres"), "-D", (folder_ / "data").string()};
    const auto set_option = [&command](const std::string& option) {
        command.insert(command.end(), {"-c", option});
    };
    set_option("unix_socket_directories=" + host());
    set_option(port_ == 0 ? "listen_addresses=" : "listen_addresses=127.0.0.1");
    set_option("huge_pages=off");
    // Recovery syncs the file system as one, not each of a thousand files.
    set_option("recovery_init_sync_method=syncfs");
    // A standby looks for its primary that often, instead of every 5 s.
    set_option("wal_retrieve_retry_interval=100ms");
    for (const std::string& each : settings_) set_option(each);
    // Without TCP, where the socket's folder tells servers apart, all have the usual port.
    if (port_ != 0) set_option("port=" + std::to_string(port_));

    words logged{"sh", "-c", "exec \"$@\" 2>>\"$0\"", log_file()};
    for (std::string& each : as_server_user(std::move(command))) logged.push_back(std::move(each));
    process_ = std::make_unique<process>(logged);
    wait_until_ready();
}

void postgres_server::wait_until_ready() {
    const auto deadline = std::chrono::steady_clock::now() + 1min;
    while (!says_ready(folder_ / "data/postmaster.pid", process_->id())) {
        const bool ended = process_->wait(5ms).has_value();
        if (!ended && std::chrono::steady_clock::now() < deadline) continue;
        process_.reset();
        throw std::runtime_error("postgres does not start: " + end_of(log_file()));
    }
}

void postgres_server::stop(way how) {
    if (!process_) return;
    process_->kill(how == way::fast ? SIGINT : SIGQUIT);
    const bool ended = process_->wait(1min).has_value();
    process_.reset();
    if (!ended) throw std::runtime_error("postgres does not stop: " + end_of(log_file()));
}

void postgres_server::restart(way how) {
    stop(how);
    start();
}

std::size_t postgres_server::terminate_backends(std::size_t most) {
    const auto limit = std::to_string(std::min<std::size_t>(most, 1'000'000));
    return std::stoul(sql("SELECT count(pg_terminate_backend(pid)) FROM " +
                          std::string(client_backends) + limit + ") AS chosen"));
}

bool postgres_server::kill_backend() {
    const std::string pid = sql("SELECT pid FROM " + std::string(client_backends) + "1) AS chosen");
    return !pid.empty() && ::kill(std::stoi(pid), SIGKILL) == 0;
}

void postgres_server::promote() {
    if (sql("SELECT pg_promote()") != "t") throw std::runtime_error("the standby is not promoted");
}

void postgres_server::follow(const postgres_server& primary) {
    set("primary_conninfo", primary.standby_connection(standby_name_));
}

std::string postgres_server::standby_connection(const std::string& name) const {
    std::string text = "host=" + host() + " user=" + std::string(superuser);
    if (port_ != 0) text += " port=" + std::to_string(port_);
    return text + " application_name=" + name;
}

}  // namespace cairn::test
