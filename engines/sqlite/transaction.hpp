// One batch of changes as one SQLite transaction: begin(), apply() each, then commit() or
// rollback().
//
// What each change does is written in engines/catalog.hpp. Blocking, on the writer's thread. An
// error from begin(), apply() or commit() leaves the transaction open or half done: the caller
// rolls back.
#pragma once

#include "engines/catalog.hpp"
#include "engines/sqlite/database.hpp"
#include "engines/sqlite/row_reader.hpp"

#include <cstdint>
#include <map>

namespace cairn::sqlite {

class transaction {
public:
    // `connection` outlives it. Serves one batch after the other.
    static result<transaction> prepare(database& connection, std::uint64_t boot);

    result<void> begin();
    result<applied> apply(const change& what);
    // Writes what the batch adds up to; after it only COMMIT itself is left.
    result<void> settle();
    result<void> commit();
    // After any error. False when not even that worked.
    bool rollback() noexcept;

    // After settle(): something of this batch went into `reclaim`.
    bool freed() const noexcept { return freed_; }

private:
    // What a batch does to one container; `known` is whether it has a segments row.
    struct touched {
        bool known = false;
        bool sealed = false;
        std::int64_t live_bytes = 0;
        std::uint64_t end_bytes = 0;

        // The put is decided: its segment ends behind its record, or altogether.
        void pass(const put_blob& put) noexcept;
    };
    struct sums {
        std::int64_t blobs = 0;
        std::int64_t bytes = 0;
        std::int64_t next_seq = 1;
        std::int64_t last_stamp_us = 0;
    };

    explicit transaction(database& connection, std::uint64_t boot, row_reader reader)
        : connection_(&connection), boot_(boot), reader_(std::move(reader)) {}

    result<applied> apply_one(const put_blob& put);
    result<applied> apply_one(const remove_blob& removal);
    result<applied> apply_one(const move_blob& move);
    result<applied> apply_one(const quarantine_blob& suspect);
    result<applied> apply_one(const open_segment& opened);
    result<applied> apply_one(const seal_segment& sealed);
    result<applied> apply_one(const forget_locator& gone);

    result<bool> insert_row(const put_blob& put);
    result<applied> put_beside(const put_blob& put, row standing);
    result<applied> heal(const put_blob& put, const row& standing);
    result<touched*> touch(std::uint64_t container);
    result<void> add_bytes(const put_blob& put);
    result<void> drop_bytes(const locator& at);
    result<void> drop_loser(const put_blob& put);
    result<void> reclaim(const locator& at);
    result<void> settle_segment(std::uint64_t segment, const touched& batch);

    database* connection_;
    std::uint64_t boot_;
    row_reader reader_;  // sees the transaction's own changes
    statement begin_, commit_, rollback_;
    statement load_sums_, store_sums_;
    statement insert_, replace_, remove_, move_;
    statement quarantine_, release_;
    statement has_segment_, open_segment_, settle_segment_, reclaim_dead_;
    statement reclaim_, forget_, forget_segment_;

    sums sums_;
    std::map<std::uint64_t, touched> touched_;
    bool freed_ = false;
};

}  // namespace cairn::sqlite
