// Members of a database, as tests make them: processes with their engines, and bare sessions that
// do what a process of cairn would only do at a bad moment.
#pragma once

#include "engines/checksums.hpp"
#include "engines/postgres/postgres_bulk.hpp"
#include "engines/postgres/postgres_catalog.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/runtime.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/postgres_server.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace cairn::postgres {

// One process: its connections, its boot, its engines.
class member {
public:
    member(runtime& threads, const std::string& url, chunk_place place = chunk_place::row)
        : threads_(threads) {
        auto parsed = server_url::parse(url).value();
        in = threads.run(database::open(threads, parsed, session_needs())).value();
        rows = std::make_unique<postgres_catalog>(*in, stop_);
        bytes = threads.run(postgres_bulk::open(*in, place));
    }
    ~member() {
        threads_.run(bytes->close());
        threads_.run(rows->close());
    }

    result<applied> commit(change what) { return threads_.run(rows->commit(std::move(what))); }

    // A body of that size in bulk, not yet published.
    std::unique_ptr<draft> write(std::size_t size_bytes, std::uint64_t seed) {
        test::piecewise_source from(test::random_body(size_bytes, seed));
        intake in_body(from, std::nullopt, UINT64_MAX);
        return threads_.run(bytes->write(in_body)).value();
    }

    result<applied> publish(const draft& written, std::size_t size_bytes, std::uint64_t seed) {
        put_blob put;
        put.id = blob_id::of(test::random_body(size_bytes, seed).view());
        put.size_bytes = size_bytes;
        put.checksums_digest = written.stored().checksums_digest;
        put.where = written.stored().at;
        put.alone = true;
        return commit(put);
    }

    result<void> erase(const draft& of) { return threads_.run(bytes->erase(of.stored().at)); }

    std::unique_ptr<database> in;
    std::unique_ptr<postgres_catalog> rows;
    std::unique_ptr<postgres_bulk> bytes;

private:
    runtime& threads_;
    fail_stop stop_;
};

struct shared_database {
    shared_database() : name(server.fresh_database()) {}
    std::string url() const { return server.url(name); }
    std::string sql(const std::string& statement) const { return server.sql(statement, name); }

    test::postgres_server& server = test::postgres_server::shared();
    const std::string name;
    runtime threads{{.threads = 2, .blocking_threads = 2}};
};

// A session of its own, which can hold a transaction open: what a zombie is.
class bare_session {
public:
    bare_session(runtime& threads, const std::string& url) : threads_(threads) {
        loop_thread& home = threads.next();
        auto parsed = server_url::parse(url).value();
        over_ = threads.run(link::open(home.get_executor(), threads.pool(), parsed));
    }
    ~bare_session() { threads_.run(over_->close()); }

    ticket start(const char* sql) { return over_->start(segment(statement{nullptr, sql})); }
    result<answers> run(const std::string& sql) {
        return threads_.run(over_->run(segment(statement{nullptr, sql.c_str()})));
    }
    result<answers> wait(ticket& of) { return threads_.run(of.answer()); }

private:
    runtime& threads_;
    std::unique_ptr<link> over_;
};

inline put_blob small_put(std::uint64_t seed) {
    put_blob put;
    put.value = test::random_body(100, seed);
    put.id = blob_id::of(put.value.view());
    put.size_bytes = 100;
    put.checksums_digest = checksums::of(put.value.view()).digest();
    return put;
}

inline bool comes_true(const std::function<bool()>& what) {
    for (int i = 0; i < 200; ++i) {
        if (what()) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
}

}  // namespace cairn::postgres
