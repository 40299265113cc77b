#include "http/cairn/bench/child_server.hpp"

#include "http/cairn/bench/http_caller.hpp"

#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace cairn::bench {
namespace {

// The first line that comes out of the pipe, empty when there is none.
std::string first_line(int from) {
    std::string line;
    char c = 0;
    while (::read(from, &c, 1) == 1 && c != '\n') line += c;
    return line;
}

void wait_for(std::uint16_t port) {
    for (int i = 0; i < 200; ++i) {
        try {
            const http_caller probe(port);
            return;
        } catch (const std::runtime_error&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
    throw std::runtime_error("a server did not open its port");
}

// Of all its threads, to the nanosecond.
double cpu_of(pid_t process) {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
        throw std::runtime_error("cannot read the processor time of a server");
    }
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

std::vector<pid_t> children_of(pid_t process) {
    const std::string id = std::to_string(process);
    std::ifstream in("/proc/" + id + "/task/" + id + "/children");
    return {std::istream_iterator<pid_t>(in), {}};
}

std::uint16_t free_port() {
    const http_listener probe;
    return probe.port();
}

constexpr const char* nginx_config = R"(
worker_processes 1;
daemon off;
pid nginx.pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    open_file_cache max=1000 inactive=600s;
    open_file_cache_valid 600s;
    default_type application/octet-stream;
    server_tokens off;
    etag off;
    client_body_temp_path .;
    proxy_temp_path .;
    fastcgi_temp_path .;
    uwsgi_temp_path .;
    scgi_temp_path .;
    server {
        listen 127.0.0.1:PORT;
        root .;
        add_header Cache-Control "public, max-age=31536000, immutable";
        add_header Repr-Digest "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:";
        # So that heads are as long as cairn's to the byte, or there is no ratio.
        add_header X-Padding xxxxxxxxx;
    }
}
)";

}  // namespace

child_server child_server::cairn(const std::filesystem::path& folder, std::size_t threads) {
    return listening({"/proc/self/exe", "serve", "--data", folder.string(), "--listen",
                      "127.0.0.1:0", "--threads", std::to_string(threads), "--log-level", "error"});
}

child_server child_server::cairn_in_memory() {
    return listening({"/proc/self/exe", "bench", "--serve-memory"});
}

// Which says where.
child_server child_server::listening(const std::vector<std::string>& command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
    child_process process(command, ends[1]);
    ::close(ends[1]);
    const std::string line = first_line(ends[0]);
    ::close(ends[0]);
    child_server made(std::move(process), 0);
    const auto colon = line.rfind(':');
    if (line.rfind("listening on ", 0) != 0 || colon == std::string::npos) {
        throw std::runtime_error("cairn did not start to serve: " + line);
    }
    made.port_ = static_cast<std::uint16_t>(std::stoul(line.substr(colon + 1)));
    return made;
}

child_server child_server::nginx(const std::filesystem::path& folder) {
    const std::uint16_t port = free_port();
    std::string config = nginx_config;
    config.replace(config.find("PORT"), 4, std::to_string(port));
    // A worker of root's would change to a user who may not read the scratch folder.
    if (::geteuid() == 0) config.insert(0, "user root;");
    std::ofstream(folder / "nginx.conf") << config;
    child_process process({"nginx", "-p", folder.string(), "-c", "nginx.conf"});
    child_server made(std::move(process), port);
    wait_for(port);
    return made;
}

bool child_server::has_nginx() {
    for (const char* path : {"/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"}) {
        if (::access(path, X_OK) == 0) return true;
    }
    return false;
}

double child_server::cpu_seconds() const {
    double sum = cpu_of(process_.id());
    for (const pid_t worker : children_of(process_.id())) sum += cpu_of(worker);
    return sum;
}

}  // namespace cairn::bench
