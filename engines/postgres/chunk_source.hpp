// The bytes of a range of a stored byte string on their way out of `chunks`, checked as they come.
//
// Asks for chunks ahead of its reader, on all readers of the database in turn, more the longer it
// is read. No transaction is open between its queries, so a byte string that is removed and swept
// meanwhile ends it with errc::absent: cut short, never wrong (SAFETY.md R4.2).
#pragma once

#include "engines/checksums.hpp"
#include "engines/locator.hpp"
#include "engines/postgres/database.hpp"
#include "engines/source.hpp"
#include "runtime/semaphore.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

namespace cairn::postgres {

class chunk_source final : public source {
public:
    // `range` lies inside. `budget` bounds, in bytes, what all sources hold ahead of their readers
    // beyond the first chunk of each. `in` and `budget` outlive it.
    chunk_source(database& in,
                 semaphore& budget,
                 extent stored,
                 std::shared_ptr<const checksums> sums,
                 byte_range range);

    std::optional<std::uint64_t> size() const override { return range_.size_bytes; }
    awaitable<result<buffer>> next() override;

private:
    // The part of one chunk that is read, in whole spans.
    struct fetch {
        std::uint64_t offset = 0;  // in the byte string
        std::uint64_t size_bytes = 0;
        std::size_t reader = 0;
        ticket asked;
        semaphore::permit held;
    };

    void fetch_ahead();
    segment query_for(const fetch& what) const;
    awaitable<result<void>> take_oldest();
    result<void> check(byte_view bytes, const fetch& what) const;

    database& in_;
    semaphore& budget_;
    const extent stored_;
    const std::shared_ptr<const checksums> sums_;
    const byte_range range_;
    std::uint64_t asked_to_;  // offset up to which chunks were asked for
    std::uint64_t given_to_;  // offset of the next byte that next() gives
    std::size_t ahead_ = 1;
    std::deque<fetch> on_way_;
    buffer here_;  // fetched and checked
    std::uint64_t here_at_ = 0;
    semaphore::permit here_held_;
};

}  // namespace cairn::postgres
