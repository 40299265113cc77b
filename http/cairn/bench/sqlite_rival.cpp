#include "http/cairn/bench/callers.hpp"
#include "http/cairn/bench/puts.hpp"
#include "runtime/hash.hpp"

#include <sqlite3.h>
#include <stdexcept>

namespace cairn::bench {
namespace {

[[noreturn]] void fail(sqlite3* handle, const char* doing) {
    throw std::runtime_error(std::string("sqlite rival: ") + doing + ": " + sqlite3_errmsg(handle));
}

// One caller's connection, as in any program that uses SQLite from several threads.
class connection {
public:
    explicit connection(const std::filesystem::path& path) {
        if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) fail(handle_, "open");
        sqlite3_busy_timeout(handle_, 60'000);
        execute("PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
        execute(
            "CREATE TABLE IF NOT EXISTS blobs(seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,"
            " value BLOB NOT NULL)");
        const char* const sql = "INSERT INTO blobs(id, value) VALUES(?1, ?2)";
        if (sqlite3_prepare_v2(handle_, sql, -1, &insert_, nullptr) != SQLITE_OK) {
            fail(handle_, "prepare");
        }
    }
    ~connection() {
        sqlite3_finalize(insert_);
        sqlite3_close(handle_);
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    void put(const std::vector<std::byte>& body) {
        const auto id = sha256::of(body);
        const int id_size = static_cast<int>(id.size());
        const int body_size = static_cast<int>(body.size());
        sqlite3_bind_blob(insert_, 1, id.data(), id_size, SQLITE_STATIC);
        sqlite3_bind_blob(insert_, 2, body.data(), body_size, SQLITE_STATIC);
        if (sqlite3_step(insert_) != SQLITE_DONE) fail(handle_, "insert");
        sqlite3_reset(insert_);
    }

private:
    void execute(const char* sql) {
        if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(handle_, sql);
    }

    sqlite3* handle_ = nullptr;
    sqlite3_stmt* insert_ = nullptr;
};

class sqlite_rival final : public contender {
public:
    sqlite_rival(std::filesystem::path folder, put_load load) : load_(load) {
        std::filesystem::create_directories(folder);
        for (std::size_t i = 0; i < load.callers; ++i) {
            connections_.push_back(std::make_unique<connection>(folder / "rival.db"));
            bodies_.emplace_back(load.size_bytes);
            random_.emplace_back();
        }
    }
    std::string what() const override { return "SQLite, a connection for each thread"; }
    sample run(run_time time) override {
        return drive(load_.callers, time, [this](std::size_t caller, latencies& times) {
            std::vector<std::byte>& body = bodies_[caller];
            random_[caller].fill(body.data(), body.size());
            const auto began = std::chrono::steady_clock::now();
            connections_[caller]->put(body);
            times.add(std::chrono::steady_clock::now() - began);
        });
    }

private:
    const put_load load_;
    std::vector<std::unique_ptr<connection>> connections_;
    std::vector<std::vector<std::byte>> bodies_;
    std::vector<fresh_bytes> random_;
};

}  // namespace

std::unique_ptr<contender> sqlite_puts(std::filesystem::path folder, put_load load) {
    return std::make_unique<sqlite_rival>(std::move(folder), load);
}

}  // namespace cairn::bench
