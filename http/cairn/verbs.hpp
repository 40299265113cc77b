// What the program can do: one function a verb, each with its options.
//
// A verb gets a runtime, writes its result to standard output and what people should know to
// standard error, and returns the exit status. It throws std::exception for trouble, usage_error
// for a usage that only it can judge.
#pragma once

#include "engines/blob_id.hpp"
#include "http/cairn/units.hpp"
#include "http/settings.hpp"
#include "runtime/runtime.hpp"
#include "store/open_store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cairn::program {

enum exit_status {
    exit_done = 0,
    exit_refused = 1,  // or not found
    exit_usage = 2,
    exit_trouble = 3,
};

struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct serve_options {
    http_settings http;
    std::string token_file;  // what http.token is read from; empty: no token
    store_options store;
    serve_options() { store.backup_every = std::chrono::hours(24); }

    std::size_t threads = 0;  // 0: one for each core
    std::chrono::milliseconds drain_time{30'000};
};

// Where a client command finds its store.
struct store_location {
    std::string server;      // HOST:PORT or http://HOST:PORT
    std::string token_file;  // holds what the server asks for
    std::string data;        // a folder to open in place; not together with a server
    std::string catalog;     // a postgresql:// URL to open in place; not together with either
    bool allow_weak_storage = false;
};

struct put_options {
    store_location at;
    std::vector<std::string> files;  // "-": standard input
    bool json = false;
};

struct get_options {
    store_location at;
    blob_id id;
    std::string output;  // empty or "-": standard output
    std::optional<parsed_range> range;
};

struct stat_options {
    store_location at;
    std::vector<blob_id> ids;
    bool json = false;
};

struct ls_options {
    store_location at;
    std::optional<blob_id> after;
    std::uint64_t limit = UINT64_MAX;
    bool json = false;
};

struct rm_options {
    store_location at;
    std::vector<blob_id> ids;
    bool json = false;
};

struct copy_options {
    std::string from;  // a folder, a server's URL or a catalog's
    std::string to;
    std::string token_file;  // for those of them that are servers
    bool allow_weak_storage = false;
    std::size_t in_flight = 16;
    bool json = false;
};

struct status_options {
    store_location at;
    bool json = false;
};

struct verify_options {
    store_location at;
    bool json = false;
};

struct backup_options {
    store_location at;
    bool json = false;
};

struct rebuild_verb_options {
    std::string data;
    std::string from;  // a catalog file; empty: the newest backup
    bool force = false;
    bool allow_weak_storage = false;
    bool json = false;
};

struct bench_options {
    std::string data = ".";  // the disk to measure: scratch folders are made here
    std::string rows;        // a regular expression for names of rows; empty: all
    std::chrono::milliseconds time{1'000};
    std::size_t repeat = 5;
    // Added to each sync, on both sides; the rows are measured once for each.
    std::vector<std::chrono::milliseconds> sync_delays{std::chrono::milliseconds(0)};
    std::string svg;                 // a file for charts by callers; empty: none
    bool growth = false;             // also by callers, blobs and sizes
    std::size_t blobs = 10'000'000;  // most that growth fills a store with
    bool brief = false;              // everything for a moment: does it all work?
    bool json = false;
    bool serve_memory = false;  // not for people: be the server that a row needs
};

int serve(const serve_options& options);
int put(runtime& threads, const put_options& options);
int get(runtime& threads, const get_options& options);
int stat(runtime& threads, const stat_options& options);
int ls(runtime& threads, const ls_options& options);
int rm(runtime& threads, const rm_options& options);
int copy(runtime& threads, const copy_options& options);
int status(runtime& threads, const status_options& options);
int verify(runtime& threads, const verify_options& options);
int backup(runtime& threads, const backup_options& options);
int rebuild(runtime& threads, const rebuild_verb_options& options);
int bench(const bench_options& options);

}  // namespace cairn::program
