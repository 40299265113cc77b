// Where a PostgreSQL store is: a `postgresql://` URL as libpq reads it, and cairn's own settings in
// its query.
//
//     postgresql://cairn:secret@db-1,db-2/store?sslmode=verify-full&cairn.prepare=false
//
//     cairn.prepare            `false` behind a pooler that hands each transaction to another
//                              session: statements are then sent with their text every time
//     cairn.read_connections   connections of a process for look-ups and reads (default 2)
//     cairn.write_connections  and to write: one for commits, the others for bytes (default 2)
//
// Holds secrets: only redacted() may be shown. A value.
#pragma once

#include "runtime/result.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::postgres {

// One place of the list, `host:port` by name. An empty host is libpq's default, a Unix socket.
struct server_place {
    std::string host;
    std::string address;  // numeric; empty: to be resolved from `host`
    std::string port;

    bool is_socket() const noexcept { return host.empty() || host[0] == '/' || host[0] == '@'; }
    std::string name() const;  // host:port
};

class server_url {
public:
    // errc::malformed for what libpq refuses and for settings that neither knows.
    static result<server_url> parse(std::string_view text);

    bool prepare() const noexcept { return prepare_; }
    std::size_t read_connections() const noexcept { return read_connections_; }
    std::size_t write_connections() const noexcept { return write_connections_; }

    // The hosts in the order in which they are tried; never empty.
    const std::vector<server_place>& places() const noexcept { return places_; }
    // libpq's settings for any of them, with our defaults for those that were left out: they find
    // a dead peer within 15 s, and skip a server that does not take writes.
    const std::map<std::string, std::string>& settings() const noexcept { return settings_; }

    // `postgresql://host:port,host:port/database`: no user, no password, no settings.
    std::string redacted() const;
    // `text` with every occurrence of the password blanked out.
    std::string without_secrets(std::string text) const;

private:
    bool read_own(const std::map<std::string, std::string>& own);

    bool prepare_ = true;
    std::size_t read_connections_ = 2;
    std::size_t write_connections_ = 2;
    std::vector<server_place> places_;
    std::map<std::string, std::string> settings_;
};

}  // namespace cairn::postgres
