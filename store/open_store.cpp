#include "store/open_store.hpp"

#include "engines/memory/memory_bulk.hpp"
#include "engines/memory/memory_catalog.hpp"
#include "engines/segments/segments.hpp"
#include "engines/sqlite/sqlite_catalog.hpp"
#include "runtime/log.hpp"
#include "store/folder.hpp"
#include "store/local_store.hpp"

#include <utility>

namespace cairn {
namespace {

// How much each durable step was shared: changes over batches is the gain of group commit.
std::vector<metrics::gauge_handle> batch_gauges(metrics& to,
                                                const sqlite_catalog& rows,
                                                const segments& bytes) {
    const auto add = [&to](const char* step, const char* what, std::function<double()> value) {
        return to.add_gauge(std::string("cairn_group_commit_") + what,
                            "Durable steps and the requests that shared them", std::move(value),
                            {{"step", step}});
    };
    return {
        add("commit", "batches", [&rows] { return double(rows.commit_counts().batches); }),
        add("commit", "entries", [&rows] { return double(rows.commit_counts().entries); }),
        add("data_sync", "batches", [&bytes] { return double(bytes.sync_counts().batches); }),
        add("data_sync", "entries", [&bytes] { return double(bytes.sync_counts().entries); }),
    };
}

}  // namespace

awaitable<result<std::unique_ptr<store>>> open_store(runtime& threads, store_options options) {
    std::unique_ptr<file_system> files = open_file_system(threads, options.io);
    if (options.wrap_files) files = options.wrap_files(std::move(files));
    auto opened = co_await folder::open(threads, *files, options.data, options.allow_weak_storage);
    if (!opened) co_return opened.error();
    const std::shared_ptr<folder> home = std::move(*opened);
    auto stop = std::make_unique<fail_stop>();

    auto rows = co_await sqlite_catalog::open(threads, home->catalog_path(), *stop);
    if (!rows) {
        log_error("store", "{}: {}", home->catalog_path().string(), rows.error().message());
        co_return rows.error();
    }
    auto joined = co_await home->join_catalog((*rows)->incarnation(), (*rows)->boot());
    if (!joined) {
        co_await (*rows)->close();
        co_return joined.error();
    }
    auto bytes = co_await segments::open(threads, *files, home->segments_path(), **rows, *stop);
    if (!bytes) {
        co_await (*rows)->close();
        log_error("store", "{}: {}", home->segments_path().string(), bytes.error().message());
        co_return bytes.error();
    }

    local_store::parts parts;
    parts.gauges = batch_gauges(threads.metrics(), **rows, **bytes);
    parts.keeps.push_back(std::shared_ptr<file_system>(std::move(files)));
    parts.keeps.push_back(home);
    parts.stop = std::move(stop);
    parts.catalog = std::move(*rows);
    parts.bulk = std::move(*bytes);
    local_store_options local;
    local.inline_bytes_max = options.inline_bytes_max;
    local.blob_bytes_max = options.max_blob_bytes;
    local.cache_bytes = options.cache_bytes;
    if (home->weak()) local.kept = durability::none;
    co_return co_await local_store::open(threads, std::move(parts), local);
}

awaitable<std::unique_ptr<store>> open_memory_store(runtime& threads) {
    local_store::parts parts;
    parts.stop = std::make_unique<fail_stop>();
    parts.catalog = std::make_unique<memory_catalog>();
    parts.bulk = std::make_unique<memory_bulk>();
    local_store_options local;
    local.kept = durability::none;
    co_return co_await local_store::open(threads, std::move(parts), local);
}

}  // namespace cairn
