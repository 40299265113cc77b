// A real PostgreSQL server that lives as long as its object: never a service, never a mock.
//
// Each server has a cluster of its own in a temporary folder, with fsync on and data checksums, and
// listens on a socket in that folder. initdb and postgres refuse root, so root runs them as
// `postgres` or `nobody`. The first cluster of a process costs an initdb (1.5 s); the others are
// copies of it (0.1 s), hence all have one system identifier.
//
// Use a server on one thread; sql() and what is made of it may be called by any thread while no
// other starts or stops the server. It dies with the thread that started it, should a test be
// killed. Failures throw std::system_error or std::runtime_error, the latter with the server's own
// words where it has any.
#pragma once

#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::test {

// Whether tests have to do without PostgreSQL: says why, and fails the test instead with CI=true.
//   if (no_postgres()) return;
bool no_postgres();

struct postgres_options {
    bool tcp = false;                        // listens on a free port of 127.0.0.1 too
    std::vector<std::string> settings = {};  // "name=value", as in postgresql.conf
};

class postgres_server {
public:
    // Of stop(): ends all sessions and checkpoints, or stops dead and recovers at the next start.
    enum class way { fast, immediate };

    // A fresh cluster, started and ready for connections.
    explicit postgres_server(postgres_options options = {});
    // A copy of `primary` that streams from it as `name`, which the primary's
    // synchronous_standby_names may then list. It takes over the primary's ALTER SYSTEM settings.
    postgres_server(postgres_server& primary, const std::string& name);
    ~postgres_server();
    postgres_server(const postgres_server&) = delete;
    postgres_server& operator=(const postgres_server&) = delete;

    // The one server that the tests of this process share; keep them apart by fresh_database().
    static postgres_server& shared();

    // Where clients find a database: through the socket, or through a TCP port that leads here (our
    // own, or a proxy's). The superuser is `cairn`, without a password.
    std::string url(std::string_view database = "postgres") const;
    std::string url_by_port(std::uint16_t port, std::string_view database = "postgres") const;
    // The socket's folder, for host lists: libpq's `host`.
    std::string host() const { return folder_.path().string(); }
    // Ours, when options.tcp; else 0. Stays the same over restarts.
    std::uint16_t port() const { return port_; }
    std::string log_file() const { return folder_ / "log"; }

    // Creates an empty database and returns its name.
    std::string fresh_database();
    // What one statement answers: rows in lines, columns parted by `|`.
    std::string sql(const std::string& statement, std::string_view database = "postgres") const;
    // ALTER SYSTEM for a setting that needs no restart; survives restarts.
    void set(const std::string& name, const std::string& value);

    void start();
    void stop(way how = way::fast);
    void restart(way how = way::fast);
    bool runs() const { return process_ != nullptr; }

    // Ends up to `most` client sessions, chosen at random, and returns how many there were.
    std::size_t terminate_backends(std::size_t most = SIZE_MAX);
    // SIGKILL to one of them: the server then restarts all of itself. False when there was none.
    bool kill_backend();

    // Makes a standby the primary of a new timeline; returns once it takes writes.
    void promote();
    // Points a running standby at another primary.
    void follow(const postgres_server& primary);

private:
    void wait_until_ready();
    std::string standby_connection(const std::string& name) const;

    temp_dir folder_{"cairn-postgres"};
    const std::vector<std::string> settings_;
    std::uint16_t port_ = 0;
    std::string standby_name_;  // empty: born a primary
    std::unique_ptr<process> process_;
    std::atomic<unsigned> databases_{0};
};

}  // namespace cairn::test
