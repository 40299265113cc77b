// A row of `blobs` as the server answers it, and locators on their way there and back.
#pragma once

#include "engines/catalog.hpp"
#include "engines/postgres/parameters.hpp"
#include "engines/postgres/rows.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cairn::postgres {

// Unsigned 64-bit in cairn, the same bits, signed, there.
inline std::int64_t signed_of(std::uint64_t value) noexcept {
    return static_cast<std::int64_t>(value);
}
inline std::uint64_t unsigned_of(std::int64_t value) noexcept {
    return static_cast<std::uint64_t>(value);
}

// Three bigints: container, start, length; or nulls.
void add_locator(parameters& to, const std::optional<locator>& at);
// From three columns, the first of which is `column`.
std::optional<locator> locator_at(const rows& from, std::size_t row, std::size_t column);

// From a column of 32 bytes; the table sees to that (CHECKed).
blob_id id_at(const rows& from, std::size_t row, std::size_t column);

// Without id, value and quarantine, from seven columns: seq, size, created_at, checksums and the
// locator's three.
row row_at(const rows& from, std::size_t row, std::size_t column);

}  // namespace cairn::postgres
