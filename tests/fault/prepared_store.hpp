// Stores that fault tests start from, made once and copied for every run.
#pragma once

#include "runtime/runtime.hpp"
#include "tests/fault/store_actors.hpp"

#include <cstdint>
#include <filesystem>

namespace cairn::test {

enum class prepared : std::uint8_t {
    fresh,   // an empty folder
    full,    // what is healthy and what is rotten, closed
    sparse,  // what is healthy, in segments that are dead by more than half, closed
    // What is healthy and what is quarantined, never closed: its log is not folded in, its segments
    // are not sealed.
    crashed,
};

// Makes all of them below `base`.
void prepare_stores(runtime& threads, const std::filesystem::path& base);

// A copy of one at `to`, which is not there yet, and what it holds.
void copy_prepared(const std::filesystem::path& base,
                   prepared which,
                   const std::filesystem::path& to,
                   expectations& now);

}  // namespace cairn::test
