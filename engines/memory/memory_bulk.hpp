// Bulk's twin in memory: byte strings in a map, with the checks of the real ones.
//
// A reader shares the bytes, so erase() does not cut it short. Any thread.
#pragma once

#include "engines/bulk.hpp"

#include <map>
#include <mutex>

namespace cairn {

class memory_bulk final : public bulk {
public:
    std::string name() const override { return "memory"; }
    awaitable<result<std::unique_ptr<draft>>> write(intake& body) override;
    awaitable<result<std::unique_ptr<source>>> read(extent stored, byte_range range) override;
    awaitable<result<void>> erase(locator at) override;
    awaitable<result<std::vector<found_record>>> scan(locator after,
                                                      std::uint64_t last_container,
                                                      std::size_t limit) override;
    awaitable<void> close() override;

    // For tests of what happens when stored bytes rot: flips one bit of a byte string.
    void flip_bit(locator at, std::uint64_t bit);

private:
    class memory_draft;
    struct record {
        blob_id id;
        extent stored;
        std::vector<buffer> spans;  // of checksum_span_bytes each, the last may be shorter
        checksums sums;
    };
    class record_source;

    std::mutex mutex_;
    std::uint64_t next_container_ = 1;
    std::map<std::uint64_t, std::shared_ptr<const record>> records_;
};

}  // namespace cairn
