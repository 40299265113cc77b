// One put attempt on its way into `chunks`: a byte string in rows of 256 KiB.
//
// Rows are sent as they fill, a few transactions behind each other on one lane; what fills
// meanwhile goes together into the next. Nothing is visible but as an upload
// (engines/postgres/uploads.hpp).
// None of these transactions is flushed by itself: publishing counts the chunks and flushes them.
#pragma once

#include "engines/postgres/database.hpp"
#include "engines/postgres/trailer.hpp"
#include "engines/postgres/uploads.hpp"
#include "runtime/semaphore.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace cairn::postgres {

inline constexpr std::size_t chunk_bytes = 256 << 10;

enum class chunk_place { row, large_object };

class upload {
public:
    // Both outlive it. `budget` bounds, in bytes, the chunks in memory of all uploads.
    upload(database& in, semaphore& budget, std::uint64_t container, chunk_place place);

    // Takes the next window. Errors: as lane::transact(); errc::vanished when a sweeper took the
    // upload, which was out of reach for too long. Cancelled: throws; the upload is given up.
    awaitable<result<void>> add(byte_view window);

    // Sends the rest and waits until everything is committed.
    awaitable<result<void>> finish(const trailer& end);

private:
    struct chunk {
        std::int64_t part = 0;
        buffer bytes;
        semaphore::permit held;
    };
    // Chunks of one transaction.
    struct parcel {
        std::vector<chunk> chunks;
        ticket sent;
    };

    awaitable<result<void>> end_chunk();
    awaitable<result<void>> send();
    awaitable<result<void>> settle_oldest();
    awaitable<result<void>> settle_all();
    void write(segment& to, const std::vector<chunk>& chunks) const;

    lane& over_;
    semaphore& budget_;
    const std::int64_t container_;
    const chunk_place place_;
    std::vector<std::byte> filling_;
    std::int64_t next_part_ = 0;
    std::vector<chunk> full_;       // wait to be sent
    std::deque<parcel> on_way_;     // sent, oldest first
    const trailer* end_ = nullptr;  // once known; for the last chunk
};

}  // namespace cairn::postgres
