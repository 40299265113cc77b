#include "http/cairn/bench/callers.hpp"
#include "http/cairn/bench/puts.hpp"
#include "http/cairn/bench/reads.hpp"
#include "http/cairn/bench/replays.hpp"
#include "http/cairn/bench/slow_vfs.hpp"
#include "runtime/hash.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <sqlite3.h>
#include <stdexcept>

namespace cairn::bench {
namespace {

using clock = std::chrono::steady_clock;

[[noreturn]] void fail(sqlite3* handle, const std::string& doing) {
    throw std::runtime_error("sqlite rival: " + doing + ": " + sqlite3_errmsg(handle));
}

struct shape {
    int page_bytes;
    const char* table;
};

// cairn's own.
constexpr shape with_rowid{8192,
                           "CREATE TABLE IF NOT EXISTS blobs(seq INTEGER PRIMARY KEY,"
                           " id BLOB NOT NULL UNIQUE, value BLOB NOT NULL)"};
// What programs commonly have that keep blobs by key.
constexpr shape without_rowid{4096,
                              "CREATE TABLE IF NOT EXISTS blobs(id BLOB PRIMARY KEY,"
                              " value BLOB NOT NULL) WITHOUT ROWID"};

// One caller's connection with its statement, as in any program that uses SQLite from several
// threads.
class connection {
public:
    connection(const std::filesystem::path& path, const shape& of) {
        if (sqlite3_open(path.c_str(), &handle_) != SQLITE_OK) fail(handle_, "open");
        sqlite3_busy_timeout(handle_, 60'000);
        execute("PRAGMA page_size=" + std::to_string(of.page_bytes));
        execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
        execute(of.table);
    }
    ~connection() {
        sqlite3_finalize(statement_);
        sqlite3_close(handle_);
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    void execute(const std::string& sql) {
        if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
            fail(handle_, sql);
        }
    }
    // What run() and read() do from now on.
    void prepare(const char* sql) {
        sqlite3_finalize(statement_);
        if (sqlite3_prepare_v2(handle_, sql, -1, &statement_, nullptr) != SQLITE_OK) {
            fail(handle_, "prepare");
        }
    }
    // The number of rows that it changed.
    int run(byte_view id, byte_view body) {
        bind(1, id);
        bind(2, body);
        if (sqlite3_step(statement_) != SQLITE_DONE) fail(handle_, "insert");
        sqlite3_reset(statement_);
        return sqlite3_changes(handle_);
    }
    // Copies the value of a row; its size.
    std::size_t read(byte_view id, std::vector<std::byte>& to) {
        bind(1, id);
        if (sqlite3_step(statement_) != SQLITE_ROW) fail(handle_, "select");
        const auto count = static_cast<std::size_t>(sqlite3_column_bytes(statement_, 0));
        const void* const value = sqlite3_column_blob(statement_, 0);
        if (count > 0) std::memcpy(to.data(), value, std::min(count, to.size()));
        sqlite3_reset(statement_);
        return count;
    }
    // As SQLite says it is set.
    std::string durability() {
        prepare("PRAGMA synchronous");
        const bool synced =
            sqlite3_step(statement_) == SQLITE_ROW && sqlite3_column_int(statement_, 0) >= 2;
        sqlite3_reset(statement_);
        return synced ? "full" : "none";
    }
    std::chrono::milliseconds sync_delay() const { return slow_vfs::delay_of(handle_); }

private:
    void bind(int parameter, byte_view value) {
        const int size = static_cast<int>(value.size());
        // Null would stand for no value at all.
        const void* const data = value.empty() ? "" : static_cast<const void*>(value.data());
        sqlite3_bind_blob(statement_, parameter, data, size, SQLITE_STATIC);
    }

    sqlite3* handle_ = nullptr;
    sqlite3_stmt* statement_ = nullptr;
};

class sqlite_rival : public contender {
public:
    sqlite_rival(const std::filesystem::path& folder,
                 std::size_t callers,
                 const shape& of,
                 work does) {
        std::filesystem::create_directories(folder);
        for (std::size_t i = 0; i < callers; ++i) {
            connections_.push_back(std::make_unique<connection>(folder / "rival.db", of));
        }
        under_.does = does;
        under_.durability = connections_.front()->durability();
        under_.sync_delay = connections_.front()->sync_delay();
    }
    terms runs_under() const override { return under_; }

protected:
    using bodies = std::vector<std::vector<std::byte>>;
    using ids = std::vector<sha256_digest>;

    void prepare_all(const char* sql) {
        for (const auto& each : connections_) each->prepare(sql);
    }
    // Random bodies, many in a transaction; keeps them where `to` is given.
    ids fill(std::size_t size_bytes, std::size_t count, bodies* to = nullptr) {
        fresh_bytes random;
        std::vector<std::byte> body(size_bytes);
        ids made;
        insert_many(count, [&](std::size_t) {
            random.fill(body.data(), body.size());
            made.push_back(sha256::of(body));
            connections_.front()->run(made.back(), body);
            if (to != nullptr) to->push_back(body);
        });
        return made;
    }

    // The same in the order of their ids, so that each page is written once and is full: millions
    // of them in minutes, and as SQLite reads them best.
    ids fill_in_order(std::size_t size_bytes, std::size_t count) {
        struct seed {
            sha256_digest id;
            fresh_bytes from;
        };
        fresh_bytes random;
        std::vector<std::byte> body(size_bytes);
        std::vector<seed> seeds;
        for (std::size_t i = 0; i < count; ++i) {
            const fresh_bytes from = random;
            random.fill(body.data(), body.size());
            seeds.push_back({sha256::of(body), from});
        }
        std::ranges::sort(seeds, {}, &seed::id);
        ids made;
        insert_many(count, [&](std::size_t i) {
            seeds[i].from.fill(body.data(), body.size());
            made.push_back(seeds[i].id);
            connections_.front()->run(made.back(), body);
        });
        return made;
    }

    std::vector<std::unique_ptr<connection>> connections_;

private:
    void insert_many(std::size_t count, const std::function<void(std::size_t)>& insert) {
        connection& in = *connections_.front();
        in.prepare("INSERT INTO blobs(id, value) VALUES(?1, ?2)");
        in.execute("BEGIN");
        for (std::size_t i = 0; i < count; ++i) {
            insert(i);
            if (i % 10'000 == 9'999) in.execute("COMMIT; BEGIN");
        }
        in.execute("COMMIT");
    }

    terms under_;
};

class puts final : public sqlite_rival {
public:
    puts(const std::filesystem::path& folder, put_load load)
        : sqlite_rival(folder, load.callers, with_rowid, work::fresh_puts),
          bodies_(load.callers, std::vector<std::byte>(load.size_bytes)),
          random_(load.callers) {
        fill(load.size_bytes, load.blobs);
        prepare_all("INSERT INTO blobs(id, value) VALUES(?1, ?2)");
    }
    std::string what() const override { return "SQLite, a connection for each thread"; }
    sample run(run_time time) override {
        return drive(bodies_.size(), time, [this](std::size_t caller, latencies& times) {
            std::vector<std::byte>& body = bodies_[caller];
            random_[caller].fill(body.data(), body.size());
            const auto began = clock::now();
            const sha256_digest id = sha256::of(body);
            connections_[caller]->run(id, body);
            times.add(clock::now() - began);
        });
    }

private:
    bodies bodies_;
    std::vector<fresh_bytes> random_;
};

class reads final : public sqlite_rival {
public:
    reads(const std::filesystem::path& folder, read_load load)
        : sqlite_rival(folder, load.callers, without_rowid, work::reads),
          ids_(fill_in_order(load.size_bytes, load.blobs)),
          copies_(load.callers, std::vector<std::byte>(load.size_bytes)) {
        for (std::size_t i = 0; i < load.callers; ++i)
            choices_.emplace_back(std::random_device{}());
        prepare_all("SELECT value FROM blobs WHERE id = ?1");
    }
    std::string what() const override {
        return "SQLite WITHOUT ROWID, 4 KiB pages, a connection each";
    }
    sample run(run_time time) override {
        return drive(copies_.size(), time, [this](std::size_t caller, latencies& times) {
            const sha256_digest& id = ids_[choices_[caller]() % ids_.size()];
            const auto began = clock::now();
            const std::size_t size_bytes = connections_[caller]->read(id, copies_[caller]);
            times.add(clock::now() - began);
            if (size_bytes != copies_[caller].size()) {
                throw std::runtime_error("a value of another size");
            }
        });
    }

private:
    const ids ids_;
    bodies copies_;
    std::vector<std::minstd_rand> choices_;
};

class replays final : public sqlite_rival {
public:
    replays(const std::filesystem::path& folder, replay_load load)
        : sqlite_rival(folder, 1, without_rowid, work::replays),
          ids_(fill(load.size_bytes, load.blobs, &bodies_)) {
        prepare_all("INSERT OR IGNORE INTO blobs(id, value) VALUES(?1, ?2)");
    }
    std::string what() const override { return "INSERT OR IGNORE into SQLite WITHOUT ROWID"; }
    sample run(run_time time) override {
        return drive(1, time, [this](std::size_t, latencies& times) {
            const std::size_t chosen = choice_() % ids_.size();
            const auto began = clock::now();
            const int changed = connections_.front()->run(ids_[chosen], bodies_[chosen]);
            times.add(clock::now() - began);
            if (changed != 0) throw std::runtime_error("a replay changed something");
        });
    }

private:
    bodies bodies_;
    const ids ids_;
    std::minstd_rand choice_{std::random_device{}()};
};

}  // namespace

std::unique_ptr<contender> sqlite_puts(std::filesystem::path folder, put_load load) {
    return std::make_unique<puts>(folder, load);
}

std::unique_ptr<contender> sqlite_reads(std::filesystem::path folder, read_load load) {
    return std::make_unique<reads>(folder, load);
}

std::unique_ptr<contender> sqlite_replays(std::filesystem::path folder, replay_load load) {
    return std::make_unique<replays>(folder, load);
}

}  // namespace cairn::bench
