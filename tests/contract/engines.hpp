// The engines that contract suites run over, each with a runtime of its own.
//
// A suite is a TEST_CASE_TEMPLATE over these; an engine of your own passes them unchanged.
#pragma once

#include "engines/memory/memory_bulk.hpp"
#include "engines/memory/memory_catalog.hpp"
#include "engines/postgres/postgres_bulk.hpp"
#include "engines/postgres/postgres_catalog.hpp"
#include "engines/segments/segments.hpp"
#include "engines/sqlite/sqlite_catalog.hpp"
#include "io/memory_file_system.hpp"
#include "io/open_file_system.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/runtime.hpp"
#include "tests/support/postgres_server.hpp"
#include "tests/support/temp_dir.hpp"

#include <filesystem>
#include <memory>
#include <utility>

namespace cairn::test {

class engine_base {
public:
    // Whether erase() may end a source that is being read.
    static constexpr bool may_cut_readers = false;

    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }

    temp_dir folder;
    runtime threads{{.threads = 2, .blocking_threads = 2}};
    fail_stop stop;
};

class memory_catalog_engine : public engine_base {
public:
    catalog& rows() { return rows_; }

private:
    memory_catalog rows_;
};

class sqlite_engine : public engine_base {
public:
    sqlite_engine() {
        rows_ = run(sqlite_catalog::open(threads, folder / "catalog.db", stop)).value();
    }
    ~sqlite_engine() { run(rows_->close()); }
    catalog& rows() { return *rows_; }

private:
    std::unique_ptr<sqlite_catalog> rows_;
};

// A database of its own on the server that the tests of this process share.
class postgres_base : public engine_base {
public:
    postgres_base() {
        postgres_server& server = postgres_server::shared();
        const std::string url = server.url(server.fresh_database());
        auto parsed = postgres::server_url::parse(url).value();
        const postgres::session_needs needs;
        database = run(postgres::database::open(threads, parsed, needs)).value();
        rows_ = std::make_unique<postgres_catalog>(*database, stop);
    }
    ~postgres_base() { run(rows_->close()); }
    catalog& rows() { return *rows_; }

    std::unique_ptr<postgres::database> database;

private:
    std::unique_ptr<postgres_catalog> rows_;
};

class postgres_engine : public postgres_base {};

template <postgres::chunk_place place>
class postgres_bulk_engine : public postgres_base {
public:
    postgres_bulk_engine() { bulk_ = run(postgres_bulk::open(*database, place)); }
    ~postgres_bulk_engine() { run(bulk_->close()); }
    cairn::bulk& bulk() { return *bulk_; }
    // Others may remove what is read here.
    static constexpr bool may_cut_readers = true;

private:
    std::unique_ptr<postgres_bulk> bulk_;
};
using postgres_chunks = postgres_bulk_engine<postgres::chunk_place::row>;
using postgres_large_objects = postgres_bulk_engine<postgres::chunk_place::large_object>;

class memory_bulk_engine : public engine_base {
public:
    cairn::bulk& bulk() { return bulk_; }
    catalog& rows() { return rows_; }

private:
    memory_catalog rows_;
    memory_bulk bulk_;
};

// Small segments, so that a few blobs fill one.
inline segments_options small_segments() {
    segments_options options;
    options.segment_bytes = 4 << 20;
    options.shared_record_bytes_max = 1 << 20;
    return options;
}

class segments_engine : public engine_base {
public:
    segments_engine(std::unique_ptr<file_system> over, std::filesystem::path at)
        : files(std::move(over)) {
        bulk_ = run(segments::open(threads, *files, at, rows_, stop, small_segments())).value();
    }
    ~segments_engine() { run(bulk_->close()); }
    segments& bulk() { return *bulk_; }
    catalog& rows() { return rows_; }

    std::unique_ptr<file_system> files;

private:
    memory_catalog rows_;
    std::unique_ptr<segments> bulk_;
};

// On real files; the runtime of the ring is made before the engine's own.
template <io_choice choice>
class segments_on : temp_dir, runtime, public segments_engine {
public:
    using segments_engine::run;
    segments_on()
        : runtime({.threads = 1, .blocking_threads = 2}),
          segments_engine(open_file_system(*this, choice), temp_dir::path() / "segments") {}
};
using segments_on_ring = segments_on<io_choice::automatic>;
using segments_on_pool = segments_on<io_choice::pool>;

class segments_in_memory : public segments_engine {
public:
    segments_in_memory() : segments_engine(std::make_unique<memory_file_system>(), "/segments") {}
};

}  // namespace cairn::test
