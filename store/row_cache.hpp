// Rows that were looked up or put lately, with their inline values: what is here is answered
// without a hop to the catalog's threads.
//
// A cache of presence may never say that a blob is there after its removal was answered (SAFETY.md,
// everywhere 3). So a removal marks its id *leaving* before its commit is sent, and an entry is
// added only if its id is not leaving and no removal in its shard ended since the look-up began:
// the shard's epoch says so. Quarantine is a removal here.
//
// Only where one process owns the catalog. Any thread; one mutex for each of the shards.
#pragma once

#include "engines/catalog.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace cairn {

class row_cache {
public:
    using row_ptr = std::shared_ptr<const row>;

    // Memory for rows and values, together; 0 keeps nothing.
    explicit row_cache(std::size_t bytes_max) : shard_bytes_max_(bytes_max / shard_count) {}

    // Null when it is not here, which says nothing about the catalog.
    row_ptr find(const blob_id& id);

    // Read before a look-up or a put begins, given to insert() after it.
    std::uint64_t epoch(const blob_id& id);
    void insert(row_ptr fresh, std::uint64_t epoch_before);

    // Held while a removal or quarantine is under way, from before its commit is sent until after
    // it was answered, whatever the answer was.
    class leaving {
    public:
        leaving(row_cache& from, const blob_id& id) : from_(from), id_(id) { from_.mark(id_); }
        ~leaving() { from_.unmark(id_); }
        leaving(const leaving&) = delete;
        leaving& operator=(const leaving&) = delete;

    private:
        row_cache& from_;
        const blob_id id_;
    };

    std::size_t size_bytes() const;

private:
    static constexpr std::size_t shard_count = 64;

    struct shard {
        mutable std::mutex mutex;
        std::uint64_t epoch = 0;
        std::size_t size_bytes = 0;
        std::list<row_ptr> rows;  // the one used last comes first
        std::unordered_map<blob_id, std::list<row_ptr>::iterator, blob_id_hash> index;
        std::unordered_map<blob_id, std::size_t, blob_id_hash> leaving;  // how many removals
    };

    shard& shard_of(const blob_id& id) noexcept;
    static void drop(shard& from, const blob_id& id);
    void mark(const blob_id& id);
    void unmark(const blob_id& id);

    const std::size_t shard_bytes_max_;
    std::array<shard, shard_count> shards_;
};

}  // namespace cairn
