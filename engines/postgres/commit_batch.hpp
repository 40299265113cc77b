// A batch of changes as one write transaction, and its answers as their replies.
//
// Small puts are one INSERT of many rows; every other change is a call of its own. The order in a
// batch is: small puts, segments opened, then puts, quarantines, removals and moves by id, then
// what follows from them. So all transactions, of all processes, take their locks in one order and
// do not deadlock (LIMITS.md, trap 2). A small put that did not get its row, because one stands or
// because the batch has the blob twice, is decided by a second transaction.
//
// Plain values; no I/O.
#pragma once

#include "engines/catalog.hpp"
#include "engines/postgres/segment.hpp"
#include "runtime/group_commit.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cairn::postgres {

class commit_batch {
public:
    using entry = group_commit<change, applied>::entry;

    // Who commits, and the number of the batch, which grows along a lane. A part of a batch that
    // fell apart keeps its number and begins at one of its entries: it is the same operations.
    struct origin {
        std::uint64_t boot = 0;
        std::uint64_t lane = 0;
        std::uint64_t number = 0;
        std::size_t first_entry = 0;
    };

    // `bad_values` has, for each entry that quarantines an inline value, the value that failed.
    commit_batch(const origin& from,
                 std::span<entry> entries,
                 std::span<const std::optional<buffer>> bad_values);

    // The first transaction, whose answers give a reply to every entry but the undecided.
    void add_to(segment& work) const;
    void read(const answers& done);

    // The second, if there are undecided puts.
    bool has_undecided() const noexcept { return !undecided_.empty(); }
    void add_undecided_to(segment& work) const;
    void read_undecided(const answers& done);
    void fail_undecided(const error_code& why);

    // After both: something went into `reclaim`.
    bool freed() const noexcept { return freed_; }

private:
    bool removes() const;
    void add_many(segment& work) const;
    void add_single(segment& work, std::size_t index) const;
    void read_many(const rows& won);
    void read_single(const rows& told, std::size_t index);

    const std::int64_t boot_;
    const std::int64_t lane_;
    const std::uint64_t number_;
    const std::size_t first_entry_;
    const std::span<entry> entries_;
    const std::span<const std::optional<buffer>> bad_values_;
    std::vector<std::size_t> many_;       // small puts by id, each id once
    std::vector<std::size_t> singles_;    // everything else, in the order in which it runs
    std::vector<std::size_t> undecided_;  // of the small puts
    bool freed_ = false;
};

}  // namespace cairn::postgres
