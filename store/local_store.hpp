// The store on this machine: a catalog says which blobs exist, a bulk engine holds the large ones.
//
// A blob up to inline_bytes_max lies in its catalog row; a larger one in bulk, written and synced
// before its row is committed, and the row before the answer (SAFETY.md R1). What this class adds
// to its engines is the routing, the row cache, quarantine, and giving bytes back: those of what
// was removed, and by compaction those that are dead beside what lives.
#pragma once

#include "engines/bulk.hpp"
#include "engines/catalog.hpp"
#include "engines/intake.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/runtime.hpp"
#include "store/backups.hpp"
#include "store/compactor.hpp"
#include "store/reclaimer.hpp"
#include "store/row_cache.hpp"
#include "store/store.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cairn {

struct local_store_options {
    std::size_t inline_bytes_max = 4096;
    std::uint64_t blob_bytes_max = std::uint64_t{1} << 40;
    std::size_t cache_bytes = 64 << 20;
    durability kept = durability::full;
    compaction_options compaction = {};
};

class local_store final : public store {
public:
    // What the engines stand on and share with the store; `keeps` holds what else must outlive
    // them.
    struct parts {
        std::vector<std::shared_ptr<void>> keeps;
        std::unique_ptr<fail_stop> stop;
        std::unique_ptr<cairn::catalog> catalog;
        std::unique_ptr<cairn::bulk> bulk;          // null: blobs over inline_bytes_max are refused
        std::unique_ptr<cairn::backups> backups;    // null: not the store's business
        std::vector<metrics::gauge_handle> gauges;  // about the engines, so gone before them
    };

    // `threads` outlives the store. Starts reclaiming and compacting.
    static awaitable<std::unique_ptr<local_store>> open(runtime& threads,
                                                        parts engines,
                                                        local_store_options options = {});
    ~local_store() override;

    awaitable<result<receipt>> put(source& body, std::optional<blob_id> claim) override;
    awaitable<result<std::unique_ptr<source>>> get(blob_id id, byte_range range) override;
    awaitable<result<std::optional<lease>>> hold(blob_id id) override;
    awaitable<result<std::vector<listed_blob>>> list(std::optional<blob_id> after,
                                                     std::size_t limit) override;
    awaitable<result<bool>> remove(blob_id id) override;
    awaitable<result<store_status>> status() override;
    awaitable<result<backup>> back_up() override;
    awaitable<void> close() override;

private:
    using row_ptr = row_cache::row_ptr;
    class checked_source;

    local_store(runtime& threads, parts engines, local_store_options options);

    awaitable<result<receipt>> put_inline(const intake& body, buffer value);
    awaitable<result<receipt>> put_again(intake& body, blob_id id);
    awaitable<result<receipt>> put_bulk(intake& body);
    awaitable<result<receipt>> write_and_publish(intake& body);
    awaitable<result<receipt>> publish(put_blob what, draft* bytes = nullptr);

    awaitable<result<row_ptr>> look_up(blob_id id);
    awaitable<result<row_ptr>> look_up_fresh(blob_id id);
    awaitable<result<std::unique_ptr<source>>> open_bulk(row_ptr of, byte_range range);
    awaitable<result<bool>> suspect(row_ptr bad, std::string reason);
    void note(const applied& done);
    pressure feel() const noexcept;

    const local_store_options options_;
    parts engines_;
    row_cache cache_;
    counter& created_;
    counter& present_;
    counter& reads_;
    counter& misses_;
    counter& removals_;
    counter& quarantines_;
    metrics::gauge_handle cache_gauge_;
    std::atomic<std::size_t> bulk_puts_{0};       // under way
    std::atomic<bool> is_short_of_space_{false};  // the last of them that ended found no room
    std::unique_ptr<reclaimer> reclaimer_;
    std::unique_ptr<compactor> compactor_;
};

}  // namespace cairn
