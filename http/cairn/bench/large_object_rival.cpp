#include "http/cairn/bench/callers.hpp"
#include "http/cairn/bench/postgres.hpp"
#include "http/cairn/bench/postgres_cluster.hpp"
#include "runtime/hash.hpp"

#include <algorithm>
#include <array>
#include <libpq-fe.h>
#include <libpq/libpq-fs.h>
#include <random>
#include <stdexcept>

namespace cairn::bench {
namespace {

constexpr std::size_t call_bytes = 512 << 10;
constexpr int binary = 1;

using answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

// A blocking connection, one statement after the other.
class connection {
public:
    explicit connection(const std::string& url) : handle_(PQconnectdb(url.c_str())) {
        if (PQstatus(handle_) != CONNECTION_OK) fail("connect");
        ask("CREATE TABLE IF NOT EXISTS blobs(id bytea PRIMARY KEY, object oid NOT NULL)");
    }
    ~connection() { PQfinish(handle_); }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    // Writes an object and the row that names it, in one transaction.
    Oid put(const std::vector<std::byte>& body) {
        const auto id = sha256::of(body);
        ask("BEGIN");
        const Oid object = lo_create(handle_, 0);
        const int open = object != 0 ? lo_open(handle_, object, INV_WRITE) : -1;
        if (open < 0) fail("lo_create");
        for (std::size_t at = 0; at < body.size(); at += call_bytes) {
            const std::size_t count = std::min(call_bytes, body.size() - at);
            const auto* const bytes = reinterpret_cast<const char*>(body.data() + at);
            if (lo_write(handle_, open, bytes, count) != static_cast<int>(count)) fail("lo_write");
        }
        lo_close(handle_, open);
        insert(id, object);
        ask("COMMIT");
        return object;
    }

    bool is_durable() {
        for (const char* sql : {"SHOW fsync", "SHOW synchronous_commit"}) {
            const answer got(PQexec(handle_, sql), PQclear);
            if (PQresultStatus(got.get()) != PGRES_TUPLES_OK) fail(sql);
            if (std::string_view(PQgetvalue(got.get(), 0, 0)) != "on") return false;
        }
        return true;
    }
    // Reads all of an object; its size.
    std::size_t get(Oid object) {
        const std::string name = std::to_string(object);
        const std::string length = std::to_string(call_bytes);
        std::size_t total = 0;
        for (;;) {
            const std::string offset = std::to_string(total);
            const std::array<const char*, 3> values{name.c_str(), offset.c_str(), length.c_str()};
            const answer got(PQexecParams(handle_, "SELECT lo_get($1::oid, $2::bigint, $3::int)", 3,
                                          nullptr, values.data(), nullptr, nullptr, binary),
                             PQclear);
            if (PQresultStatus(got.get()) != PGRES_TUPLES_OK) fail("lo_get");
            const auto count = static_cast<std::size_t>(PQgetlength(got.get(), 0, 0));
            total += count;
            if (count < call_bytes) return total;
        }
    }

private:
    [[noreturn]] void fail(const char* doing) const {
        throw std::runtime_error(std::string("large objects: ") + doing + ": " +
                                 PQerrorMessage(handle_));
    }
    void ask(const char* sql) {
        const answer got(PQexec(handle_, sql), PQclear);
        if (PQresultStatus(got.get()) != PGRES_COMMAND_OK) fail(sql);
    }
    void insert(const sha256_digest& id, Oid object) {
        const std::string name = std::to_string(object);
        const std::array<const char*, 2> values{reinterpret_cast<const char*>(id.data()),
                                                name.c_str()};
        const std::array<int, 2> lengths{static_cast<int>(id.size()), 0};
        const std::array<int, 2> formats{binary, 0};
        const answer got(PQexecParams(handle_, "INSERT INTO blobs VALUES ($1::bytea, $2::oid)", 2,
                                      nullptr, values.data(), lengths.data(), formats.data(), 0),
                         PQclear);
        if (PQresultStatus(got.get()) != PGRES_COMMAND_OK) fail("insert");
    }

    PGconn* handle_;
};

class large_objects : public contender {
public:
    large_objects(const std::filesystem::path& folder, std::size_t size_bytes, work does)
        : cluster_(postgres_cluster::beside(folder)),
          to_(cluster_->create_database("rival")),
          body_(size_bytes) {
        under_.does = does;
        under_.durability = to_.is_durable() ? "full" : "none";
    }
    terms runs_under() const override { return under_; }

protected:
    Oid put_fresh() {
        random_.fill(body_.data(), body_.size());
        return to_.put(body_);
    }

    const std::shared_ptr<postgres_cluster> cluster_;
    connection to_;
    std::vector<std::byte> body_;
    fresh_bytes random_;

private:
    terms under_;
};

class puts final : public large_objects {
public:
    puts(const std::filesystem::path& folder, put_load load)
        : large_objects(folder, load.size_bytes, work::fresh_puts) {}

    std::string what() const override { return "lo_create and lowrite of 512 KiB, one by one"; }
    sample run(run_time time) override {
        return drive(1, time, [this](std::size_t, latencies& times) {
            random_.fill(body_.data(), body_.size());
            const auto began = std::chrono::steady_clock::now();
            to_.put(body_);
            times.add(std::chrono::steady_clock::now() - began);
        });
    }
};

class reads final : public large_objects {
public:
    reads(const std::filesystem::path& folder, read_load load)
        : large_objects(folder, load.size_bytes, work::reads) {
        for (std::size_t i = 0; i < load.blobs; ++i) objects_.push_back(put_fresh());
    }
    std::string what() const override { return "lo_get of 512 KiB, one by one"; }
    sample run(run_time time) override {
        return drive(1, time, [this](std::size_t, latencies& times) {
            const Oid object = objects_[choice_() % objects_.size()];
            const auto began = std::chrono::steady_clock::now();
            if (to_.get(object) != body_.size()) throw std::runtime_error("an object is short");
            times.add(std::chrono::steady_clock::now() - began);
        });
    }

private:
    std::vector<Oid> objects_;
    std::minstd_rand choice_{std::random_device{}()};
};

}  // namespace

std::unique_ptr<contender> large_object_puts(std::filesystem::path folder, put_load load) {
    return std::make_unique<puts>(folder, load);
}

std::unique_ptr<contender> large_object_reads(std::filesystem::path folder, read_load load) {
    return std::make_unique<reads>(folder, load);
}

}  // namespace cairn::bench
