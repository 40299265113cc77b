#include "store/open_store.hpp"

#include "engines/memory/memory_bulk.hpp"
#include "engines/memory/memory_catalog.hpp"
#include "engines/postgres/postgres_bulk.hpp"
#include "engines/postgres/postgres_catalog.hpp"
#include "engines/segments/segments.hpp"
#include "engines/sqlite/sqlite_catalog.hpp"
#include "runtime/log.hpp"
#include "store/folder.hpp"
#include "store/local_store.hpp"

#include <utility>

namespace cairn {
namespace {

constexpr std::size_t folder_inline_bytes = 4 << 10;
constexpr std::size_t postgres_inline_bytes = 64 << 10;

// How much each durable step was shared: entries over batches is the gain of group commit.
void add_batch_gauges(std::vector<metrics::gauge_handle>& list,
                      metrics& to,
                      const char* step,
                      std::function<group_commit_counts()> counts) {
    const auto add = [&](const char* what, std::function<double()> value) {
        list.push_back(to.add_gauge(std::string("cairn_group_commit_") + what,
                                    "Durable steps and the requests that shared them",
                                    std::move(value), {{"step", step}}));
    };
    add("batches", [counts] { return double(counts().batches); });
    add("entries", [counts] { return double(counts().entries); });
}

local_store_options local_options(const store_options& options, std::size_t inline_bytes) {
    local_store_options local;
    local.inline_bytes_max = options.inline_bytes_max.value_or(inline_bytes);
    local.blob_bytes_max = options.max_blob_bytes;
    local.cache_bytes = options.cache_bytes;
    local.compaction = options.compaction;
    local.kept = options.promise;
    return local;
}

// What a person can do about a catalog that does not open.
const char* way_out_of(const error_code& ec) {
    if (ec == errc::restored_copy) {
        return "; opening it would lose what came after: put the newer one back, or let `cairn "
               "rebuild` make one from it and the segments";
    }
    if (ec == errc::absent) {
        return "; this folder had a catalog: put it back, with its -wal file, or let `cairn "
               "rebuild` make a new one from backup and segments";
    }
    if (sqlite::is_busy(ec)) return "; another program reads it: end that one first";
    if (sqlite::is_damage(ec)) return "; `cairn rebuild` makes a new one from backup and segments";
    return "";
}

postgres::session_needs needs_of(const store_options& options) {
    return {options.promise == durability::replicated, options.allow_weak_storage};
}

// The database goes last: catalog and bulk stand on it.
awaitable<result<std::unique_ptr<store>>> open_postgres(runtime& threads, store_options options) {
    auto url = postgres::server_url::parse(options.catalog);
    if (!url) co_return url.error();
    const postgres::session_needs needs = needs_of(options);
    auto opened = co_await postgres::database::open(threads, std::move(*url), needs);
    if (!opened) co_return opened.error();
    const std::shared_ptr<postgres::database> in = std::move(*opened);
    const auto place = options.bulk == bulk_kind::chunks ? postgres::chunk_place::row
                                                         : postgres::chunk_place::large_object;
    local_store::parts parts;
    parts.stop = std::make_unique<fail_stop>();
    auto rows = std::make_unique<postgres_catalog>(*in, *parts.stop);
    add_batch_gauges(parts.gauges, threads.metrics(), "commit",
                     [&from = *rows] { return from.commit_counts(); });
    add_batch_gauges(parts.gauges, threads.metrics(), "look_up",
                     [&from = *rows] { return from.look_up_counts(); });
    parts.bulk = co_await postgres_bulk::open(*in, place);
    parts.catalog = std::move(rows);
    parts.keeps.push_back(in);
    local_store_options local = local_options(options, postgres_inline_bytes);
    local.cache_bytes = 0;  // caches of presence belong to stores of one process
    if (in->weak()) local.kept = durability::none;
    co_return co_await local_store::open(threads, std::move(parts), local);
}

awaitable<result<std::unique_ptr<store>>> open_folder(runtime& threads, store_options options) {
    std::unique_ptr<file_system> files = open_file_system(threads, options.io);
    if (options.wrap_files) files = options.wrap_files(std::move(files));
    auto opened = co_await folder::open(threads, *files, options.data, options.allow_weak_storage);
    if (!opened) co_return opened.error();
    const std::shared_ptr<folder> home = std::move(*opened);
    auto stop = std::make_unique<fail_stop>();

    const auto boot_known = co_await home->last_boot();
    if (!boot_known) co_return boot_known.error();
    auto rows = co_await sqlite_catalog::open(threads, home->catalog_path(), *stop, *boot_known);
    if (!rows) {
        log_error("store", "{}: {}{}", home->catalog_path().string(), rows.error().message(),
                  way_out_of(rows.error()));
        co_return rows.error();
    }
    auto joined = co_await home->join_catalog((*rows)->incarnation(), (*rows)->boot());
    if (!joined) {
        co_await (*rows)->close();
        co_return joined.error();
    }
    segments_options layout;
    layout.verify = options.verify;
    layout.segment_bytes = options.segment_bytes;
    auto bytes =
        co_await segments::open(threads, *files, home->segments_path(), **rows, *stop, layout);
    if (!bytes) {
        co_await (*rows)->close();
        log_error("store", "{}: {}", home->segments_path().string(), bytes.error().message());
        co_return bytes.error();
    }

    local_store::parts parts;
    add_batch_gauges(parts.gauges, threads.metrics(), "commit",
                     [&from = **rows] { return from.commit_counts(); });
    add_batch_gauges(parts.gauges, threads.metrics(), "data_sync",
                     [&from = **bytes] { return from.sync_counts(); });
    parts.backups =
        std::make_unique<backups>(threads.next().get_executor(), **rows, *files, home->path());
    if (options.backup_every.count() > 0) co_await parts.backups->start(options.backup_every);
    parts.keeps.push_back(std::shared_ptr<file_system>(std::move(files)));
    parts.keeps.push_back(home);
    parts.stop = std::move(stop);
    parts.catalog = std::move(*rows);
    parts.bulk = std::move(*bytes);
    local_store_options local = local_options(options, folder_inline_bytes);
    if (home->weak()) local.kept = durability::none;
    co_return co_await local_store::open(threads, std::move(parts), local);
}

}  // namespace

awaitable<result<std::unique_ptr<store>>> open_store(runtime& threads, store_options options) {
    const bool on_postgres = !options.catalog.empty();
    const bool is_mixed = on_postgres && !options.data.empty();
    const bool cannot_replicate = !on_postgres && options.promise == durability::replicated;
    if (is_mixed || cannot_replicate) co_return error_code(errc::unsupported);
    if (on_postgres) co_return co_await open_postgres(threads, std::move(options));
    co_return co_await open_folder(threads, std::move(options));
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
