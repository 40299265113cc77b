// The catalog's twin in memory: the same answers, nothing kept. For tests and for trying cairn out.
//
// One mutex; every call answers at once, on the caller's thread.
#pragma once

#include "engines/catalog.hpp"

#include <map>
#include <mutex>
#include <set>
#include <string>

namespace cairn {

class memory_catalog final : public catalog {
public:
    std::string name() const override { return "memory"; }
    std::uint64_t boot() const noexcept override { return boot_; }
    // What reopening is for an engine that keeps its rows: for tests of recovery. No call in
    // progress.
    void reopen() noexcept { ++boot_; }
    awaitable<result<applied>> commit(change what) override;
    awaitable<result<std::optional<row>>> find(blob_id id) override;
    awaitable<result<std::vector<row>>> list(std::optional<blob_id> after,
                                             std::size_t limit) override;
    awaitable<result<std::vector<locator>>> reclaimable(std::size_t limit) override;
    awaitable<result<std::vector<segment_row>>> segments(std::uint64_t after,
                                                         std::size_t limit,
                                                         bool only_unsealed) override;
    awaitable<result<catalog_counts>> count() override;
    awaitable<void> close() override;

private:
    applied apply(const put_blob& put);
    applied apply(const remove_blob& removal);
    applied apply(const move_blob& move);
    applied apply(const quarantine_blob& suspect);
    applied apply(const open_segment& opened);
    applied apply(const seal_segment& sealed);
    applied apply(const forget_locator& gone);

    void add_bytes(const put_blob& put);
    bool drop_bytes(const locator& at);
    bool drop_loser(const put_blob& put);
    bool reclaim_if_dead(const segment_row& segment);

    std::uint64_t boot_ = 1;
    std::mutex mutex_;
    std::uint64_t next_seq_ = 1;
    std::int64_t last_stamp_us_ = 0;
    std::uint64_t blob_bytes_ = 0;
    std::uint64_t quarantined_count_ = 0;
    std::map<blob_id, row> rows_;
    std::map<std::uint64_t, segment_row> segments_;
    std::set<locator> reclaim_;
};

}  // namespace cairn
