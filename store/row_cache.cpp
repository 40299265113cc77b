#include "store/row_cache.hpp"

#include <utility>

namespace cairn {
namespace {

// A row, its list and index nodes, and the allocator's share.
constexpr std::size_t row_bytes = 320;

std::size_t weight_of(const row& kept) noexcept { return row_bytes + kept.value.size(); }

}  // namespace

row_cache::row_ptr row_cache::find(const blob_id& id) {
    shard& at = shard_of(id);
    std::lock_guard lock(at.mutex);
    const auto found = at.index.find(id);
    if (found == at.index.end()) return nullptr;
    at.rows.splice(at.rows.begin(), at.rows, found->second);
    return *found->second;
}

std::uint64_t row_cache::epoch(const blob_id& id) {
    shard& at = shard_of(id);
    std::lock_guard lock(at.mutex);
    return at.epoch;
}

void row_cache::insert(row_ptr fresh, std::uint64_t epoch_before) {
    const std::size_t weight = weight_of(*fresh);
    if (weight > shard_bytes_max_) return;
    const blob_id id = fresh->id;
    shard& at = shard_of(id);
    std::lock_guard lock(at.mutex);
    if (at.epoch != epoch_before || at.leaving.contains(id) || at.index.contains(id)) return;
    at.rows.push_front(std::move(fresh));
    at.index.emplace(id, at.rows.begin());
    at.size_bytes += weight;
    while (at.size_bytes > shard_bytes_max_) {
        const blob_id oldest = at.rows.back()->id;
        drop(at, oldest);
    }
}

std::size_t row_cache::size_bytes() const {
    std::size_t sum = 0;
    for (const shard& each : shards_) {
        std::lock_guard lock(each.mutex);
        sum += each.size_bytes;
    }
    return sum;
}

row_cache::shard& row_cache::shard_of(const blob_id& id) noexcept {
    return shards_[std::to_integer<std::size_t>(id.bytes[0]) % shard_count];
}

void row_cache::drop(shard& from, const blob_id& id) {
    const auto found = from.index.find(id);
    if (found == from.index.end()) return;
    from.size_bytes -= weight_of(**found->second);
    from.rows.erase(found->second);
    from.index.erase(found);
}

void row_cache::mark(const blob_id& id) {
    shard& at = shard_of(id);
    std::lock_guard lock(at.mutex);
    ++at.leaving[id];
    drop(at, id);
}

void row_cache::unmark(const blob_id& id) {
    shard& at = shard_of(id);
    std::lock_guard lock(at.mutex);
    ++at.epoch;
    const auto found = at.leaving.find(id);
    if (--found->second == 0) at.leaving.erase(found);
}

}  // namespace cairn
