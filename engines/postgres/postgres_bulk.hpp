// Bulk in the database itself: byte strings in rows of 256 KiB, or in large objects.
//
// Which of the two a byte string lies in, its rows say, so both can be read whatever is written
// now. Any number of processes share it: an upload belongs to its process while that lives, and is
// swept by any other when it is gone (engines/postgres/uploads.hpp). Sources may be cut short by a
// removal, with errc::absent.
#pragma once

#include "engines/bulk.hpp"
#include "engines/lru.hpp"
#include "engines/postgres/database.hpp"
#include "engines/postgres/upload.hpp"
#include "engines/postgres/uploads.hpp"
#include "runtime/semaphore.hpp"

#include <memory>
#include <string>

namespace cairn {

class postgres_bulk final : public bulk {
public:
    // `in` outlives it.
    static awaitable<std::unique_ptr<postgres_bulk>> open(postgres::database& in,
                                                          postgres::chunk_place place);

    std::string name() const override;
    awaitable<result<std::unique_ptr<draft>>> write(intake& body) override;
    awaitable<result<std::unique_ptr<source>>> read(extent stored, byte_range range) override;
    // Of a whole container; any other is not of this engine, and absent. The `reclaim` row goes
    // with the last bytes, so that both are durable, or none.
    awaitable<result<void>> erase(locator at) override;
    awaitable<result<std::vector<found_record>>> scan(locator after,
                                                      std::uint64_t last_container,
                                                      std::size_t limit) override;
    awaitable<void> close() override;

private:
    class upload_draft;
    using sums_ptr = std::shared_ptr<const checksums>;

    postgres_bulk(postgres::database& in, postgres::chunk_place place);
    awaitable<result<sums_ptr>> sums_of(extent stored);

    postgres::database& in_;
    const postgres::chunk_place place_;
    semaphore write_budget_;
    semaphore read_budget_;
    postgres::uploads uploads_;
    lru<std::uint64_t, sums_ptr> sums_;  // by container
};

}  // namespace cairn
