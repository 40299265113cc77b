// What a reader of one record needs to trust its bytes: the checksums, and which spans were found
// good in this boot.
//
// Bytes that pass through user space are checked each time. Bytes that sendfile takes from the page
// cache rest on an earlier check of the same span of the same record: locators are never used again
// and published bytes never overwritten, so a check keeps its meaning until this object is
// forgotten. Any thread.
#pragma once

#include "engines/checksums.hpp"
#include "engines/locator.hpp"
#include "engines/source.hpp"
#include "io/file.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cairn {

enum class verifying {
    first,   // once in a boot is enough for sendfile
    always,  // bytes leave only as they were checked: no sendfile
};

class record_checks {
public:
    // Reads the trailer: errc::corrupt when it is not that of `stored`.
    static awaitable<result<std::shared_ptr<record_checks>>> load(
        std::shared_ptr<file> from, extent stored, verifying when = verifying::first);

    const extent& stored() const noexcept { return stored_; }
    std::size_t memory_bytes() const noexcept;

    // Whether `span` is span number `index` as it was put; remembered either way.
    bool judge(std::uint64_t index, byte_view span) noexcept;

    // Whether judge() found every span that holds a byte of [begin_offset, end_offset) good; with
    // verifying::always never enough.
    bool all_good(std::uint64_t begin_offset, std::uint64_t end_offset) const noexcept;

private:
    record_checks(extent stored, checksums sums, verifying when);

    const extent stored_;
    const checksums sums_;
    const verifying when_;
    std::vector<std::atomic<std::uint64_t>> good_;  // one bit a span
};

// The bytes of a range that lies inside the record, from the file that holds it.
std::unique_ptr<source> read_range(std::shared_ptr<file> in,
                                   std::shared_ptr<record_checks> checks,
                                   byte_range range);

}  // namespace cairn
