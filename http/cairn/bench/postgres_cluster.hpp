// A PostgreSQL server of the bench's own, which ours and the rivals share while a row is measured.
//
// It lies beside the folders of the two sides and listens on a socket. PostgreSQL refuses root, so
// root runs it as `postgres` or `nobody`. Throws std::runtime_error when it does not start.
#pragma once

#include "http/cairn/bench/child_process.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace cairn::bench {

class postgres_cluster {
public:
    // The one beside `folder`: made for the first who asks, gone with the last who holds it.
    static std::shared_ptr<postgres_cluster> beside(const std::filesystem::path& folder);
    // Whether there is a PostgreSQL 15 or later, with pgbench.
    static bool is_installed();
    // How it is set up: fsync and synchronous_commit on, sizes that keep checkpoints out of a run.
    static std::string settings_text();
    // Where one of its programs is.
    static std::string program(const char* name);

    explicit postgres_cluster(const std::filesystem::path& folder);
    ~postgres_cluster();
    postgres_cluster(const postgres_cluster&) = delete;
    postgres_cluster& operator=(const postgres_cluster&) = delete;

    // Makes an empty database, also where one of that name was; its URL, for the superuser.
    std::string create_database(const std::string& name);

private:
    std::string url_of(const std::string& database) const;
    void start();

    const std::filesystem::path folder_;
    std::filesystem::path socket_;  // a folder of its own: the path of a socket has to be short
    std::optional<child_process> server_;
};

}  // namespace cairn::bench
