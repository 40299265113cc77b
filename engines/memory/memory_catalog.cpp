#include "engines/memory/memory_catalog.hpp"

#include "engines/checksums.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace cairn {
namespace {

std::int64_t now_us() noexcept {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

void pass(segment_row& segment, const put_blob& put) {
    segment.end_bytes = std::max(segment.end_bytes, put.where->offset + put.where->length_bytes);
    segment.sealed = segment.sealed || put.alone;
}

}  // namespace

awaitable<result<applied>> memory_catalog::commit(change what) {
    std::lock_guard lock(mutex_);
    last_stamp_us_ = std::max(last_stamp_us_, now_us());
    co_return std::visit([this](const auto& each) { return apply(each); }, what);
}

awaitable<result<std::optional<row>>> memory_catalog::find(blob_id id) {
    std::lock_guard lock(mutex_);
    const auto found = rows_.find(id);
    if (found == rows_.end()) co_return std::optional<row>();
    co_return std::optional<row>(found->second);
}

awaitable<result<std::vector<row>>> memory_catalog::list(std::optional<blob_id> after,
                                                         std::size_t limit) {
    std::lock_guard lock(mutex_);
    std::vector<row> page;
    auto next = after ? rows_.upper_bound(*after) : rows_.begin();
    for (; next != rows_.end() && page.size() < limit; ++next) {
        if (next->second.quarantined) continue;
        page.push_back(next->second);
        page.back().value = buffer();
    }
    co_return page;
}

awaitable<result<std::vector<locator>>> memory_catalog::reclaimable(std::size_t limit) {
    std::lock_guard lock(mutex_);
    const std::size_t count = std::min(limit, reclaim_.size());
    co_return std::vector<locator>(reclaim_.begin(),
                                   std::next(reclaim_.begin(), static_cast<std::ptrdiff_t>(count)));
}

awaitable<result<std::vector<segment_row>>> memory_catalog::segments(std::uint64_t after,
                                                                     std::size_t limit,
                                                                     bool only_unsealed) {
    std::lock_guard lock(mutex_);
    std::vector<segment_row> page;
    auto next = segments_.upper_bound(after);
    for (; next != segments_.end() && page.size() < limit; ++next) {
        if (!only_unsealed || !next->second.sealed) page.push_back(next->second);
    }
    co_return page;
}

awaitable<result<catalog_counts>> memory_catalog::count() {
    std::lock_guard lock(mutex_);
    catalog_counts counts;
    counts.blob_count = rows_.size();
    counts.blob_bytes = blob_bytes_;
    counts.segment_count = segments_.size();
    for (const auto& [number, segment] : segments_) {
        counts.end_bytes += segment.end_bytes;
        counts.live_bytes += segment.live_bytes;
    }
    counts.reclaim_count = reclaim_.size();
    counts.quarantined_count = quarantined_count_;
    co_return counts;
}

awaitable<void> memory_catalog::close() { co_return; }

applied memory_catalog::apply(const put_blob& put) {
    row fresh{.seq = next_seq_,
              .id = put.id,
              .size_bytes = put.size_bytes,
              .created_at_us = last_stamp_us_,
              .where = put.where,
              .value = put.value,
              .checksums_digest = put.checksums_digest,
              .quarantined = false};
    const auto [found, is_new] = rows_.try_emplace(put.id, fresh);
    row& standing = found->second;
    if (is_new) {
        ++next_seq_;
        blob_bytes_ += put.size_bytes;
        add_bytes(put);
        return {.changed = true, .freed = false, .standing = {}};
    }
    if (standing.quarantined) {
        fresh.seq = standing.seq;
        fresh.created_at_us = standing.created_at_us;
        const auto old_bytes = std::exchange(standing, std::move(fresh)).where;
        --quarantined_count_;
        add_bytes(put);
        return {.changed = true, .freed = old_bytes && drop_bytes(*old_bytes), .standing = {}};
    }
    const bool own = put.where && standing.where == put.where;
    applied lost{.changed = own, .freed = !own && drop_loser(put), .standing = standing};
    lost.standing->value = buffer();
    return lost;
}

applied memory_catalog::apply(const remove_blob& removal) {
    const auto found = rows_.find(removal.id);
    if (found == rows_.end()) return {};
    const row gone = std::move(found->second);
    rows_.erase(found);
    blob_bytes_ -= gone.size_bytes;
    if (gone.quarantined) --quarantined_count_;
    return {.changed = true, .freed = gone.where && drop_bytes(*gone.where), .standing = {}};
}

applied memory_catalog::apply(const move_blob& move) {
    const auto found = rows_.find(move.id);
    const bool is_there = found != rows_.end() && found->second.where == move.to;
    if (is_there) return {.changed = true, .freed = false, .standing = {}};
    put_blob copy;
    copy.where = move.to;
    copy.alone = move.alone;
    const bool moves =
        found != rows_.end() && found->second.where == move.from && !found->second.quarantined;
    if (!moves) return {.changed = false, .freed = drop_loser(copy), .standing = {}};
    found->second.where = move.to;
    add_bytes(copy);
    return {.changed = true, .freed = drop_bytes(move.from), .standing = {}};
}

applied memory_catalog::apply(const quarantine_blob& suspect) {
    const auto found = rows_.find(suspect.id);
    if (found == rows_.end()) return {};
    row& standing = found->second;
    if (standing.quarantined || standing.where != suspect.failed_at) return {};
    const bool inline_and_good = !standing.where && checksums::of(standing.value.view()).digest() ==
                                                        standing.checksums_digest;
    if (inline_and_good) return {};
    standing.quarantined = true;
    ++quarantined_count_;
    return {.changed = true, .freed = false, .standing = {}};
}

applied memory_catalog::apply(const open_segment& opened) {
    segments_[opened.segment] = {.segment = opened.segment,
                                 .boot = boot(),
                                 .sealed = false,
                                 .end_bytes = 0,
                                 .live_bytes = 0,
                                 .replay_key = opened.replay_key};
    return {.changed = true, .freed = false, .standing = {}};
}

applied memory_catalog::apply(const seal_segment& sealed) {
    for (const put_blob& each : sealed.found) apply(each);
    const auto found = segments_.find(sealed.segment);
    if (found == segments_.end()) return {};
    found->second.sealed = true;
    return {.changed = true, .freed = reclaim_if_dead(found->second), .standing = {}};
}

applied memory_catalog::apply(const forget_locator& gone) {
    const bool changed = reclaim_.erase(gone.at) == 1;
    const bool whole = gone.at.offset == 0 && gone.at.length_bytes == 0;
    const auto found = segments_.find(gone.at.container);
    const bool dead =
        found != segments_.end() && found->second.sealed && found->second.live_bytes == 0;
    if (whole && dead) segments_.erase(found);
    return {.changed = changed, .freed = false, .standing = {}};
}

void memory_catalog::add_bytes(const put_blob& put) {
    if (!put.where) return;
    const auto found = segments_.find(put.where->container);
    if (found == segments_.end()) return;
    found->second.live_bytes += put.where->length_bytes;
    pass(found->second, put);
}

bool memory_catalog::drop_bytes(const locator& at) {
    const auto found = segments_.find(at.container);
    if (found == segments_.end()) return reclaim_.insert(at).second;
    found->second.live_bytes -= at.length_bytes;
    return reclaim_if_dead(found->second);
}

bool memory_catalog::drop_loser(const put_blob& put) {
    if (!put.where) return false;
    const auto found = segments_.find(put.where->container);
    if (found == segments_.end()) return reclaim_.insert(*put.where).second;
    pass(found->second, put);
    return reclaim_if_dead(found->second);
}

bool memory_catalog::reclaim_if_dead(const segment_row& segment) {
    if (!segment.sealed || segment.live_bytes != 0) return false;
    return reclaim_.insert(locator{segment.segment, 0, 0}).second;
}

}  // namespace cairn
