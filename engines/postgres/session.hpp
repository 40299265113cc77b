// An open session of libpq, and how one is made: nonblocking, and in pipeline mode for good.
//
// On the calling coroutine's executor, a loop thread; names are resolved on the blocking pool. One
// thread at a time.
#pragma once

#include "engines/postgres/server_url.hpp"
#include "runtime/awaitable.hpp"
#include "runtime/blocking_pool.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct pg_conn;

namespace cairn::postgres {

struct finish {
    void operator()(pg_conn* open) const noexcept;
};
using session = std::unique_ptr<pg_conn, finish>;

// An open session, or why there is none; never with secrets.
class attempt {
public:
    explicit attempt(session open) : open_(std::move(open)) {}
    explicit attempt(std::string trouble) : trouble_(std::move(trouble)) {}

    explicit operator bool() const noexcept { return open_ != nullptr; }
    session take() noexcept { return std::move(open_); }
    const std::string& trouble() const noexcept { return trouble_; }

private:
    session open_;
    std::string trouble_;
};

// The places with numeric addresses, one for each address of a name; those whose name is not known
// are left out. Not cancellable: completes.
awaitable<std::vector<server_place>> resolve(blocking_pool& pool, std::vector<server_place> places);

// One attempt, at one resolved place. Cancelled: gives up, throws.
awaitable<attempt> connect(server_url server,
                           server_place place,
                           std::chrono::milliseconds timeout);

// The first line of what libpq says about the session, made printable.
std::string trouble_of(const pg_conn* of);

}  // namespace cairn::postgres
