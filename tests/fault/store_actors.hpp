// The blobs that the store scripts are about, and what is expected of each.
#pragma once

#include "engines/blob_id.hpp"
#include "runtime/bytes.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn::test {

// The new ones are in no prepared store.
enum class actor : std::uint8_t {
    small,         // inline
    value,         // inline, as long as that may be
    shared,        // a record in a shared segment
    wide,          // of several checksum spans
    streamed,      // of unknown length: a segment of its own
    rotten,        // a bit of its record is wrong
    rotten_value,  // a bit of its inline value is wrong
    new_small,
    new_shared,
    new_streamed,
    new_alone,  // too long for a shared segment
};
inline constexpr std::size_t actor_count = 11;
inline constexpr std::array healthy_actors{actor::small, actor::value, actor::shared, actor::wide,
                                           actor::streamed};

constexpr actor actor_at(std::size_t index) { return static_cast<actor>(index); }

struct actor_blob {
    std::string_view name;
    buffer bytes;
    blob_id id;
    bool announces_size = true;
};

const actor_blob& blob_of(actor which);

enum class expected : std::uint8_t {
    absent,
    present,
    either,
    bad,  // known and not served, or healed: never wrong bytes
    bad_or_absent,
};

// What is expected of each actor; may lie in memory that processes share.
struct expectations {
    std::array<std::atomic<expected>, actor_count> of{};

    std::atomic<expected>& operator[](actor which) { return of[static_cast<std::size_t>(which)]; }
};

}  // namespace cairn::test
