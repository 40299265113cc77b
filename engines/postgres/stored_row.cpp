#include "engines/postgres/stored_row.hpp"

#include "runtime/check.hpp"

#include <cstring>

namespace cairn::postgres {

void add_locator(parameters& to, const std::optional<locator>& at) {
    if (!at) {
        to.add_null().add_null().add_null();
        return;
    }
    to.add(signed_of(at->container)).add(signed_of(at->offset)).add(signed_of(at->length_bytes));
}

std::optional<locator> locator_at(const rows& from, std::size_t row, std::size_t column) {
    if (from.is_null(row, column)) return std::nullopt;
    return locator{unsigned_of(from.integer(row, column)),
                   unsigned_of(from.integer(row, column + 1)),
                   unsigned_of(from.integer(row, column + 2))};
}

blob_id id_at(const rows& from, std::size_t row, std::size_t column) {
    const byte_view bytes = from.bytes(row, column);
    blob_id id;
    CAIRN_CHECK(bytes.size() == id.bytes.size());
    std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
    return id;
}

row row_at(const rows& from, std::size_t index, std::size_t column) {
    row found;
    found.seq = unsigned_of(from.integer(index, column));
    found.size_bytes = unsigned_of(from.integer(index, column + 1));
    found.created_at_us = from.integer(index, column + 2);
    found.checksums_digest = unsigned_of(from.integer(index, column + 3));
    found.where = locator_at(from, index, column + 4);
    return found;
}

}  // namespace cairn::postgres
