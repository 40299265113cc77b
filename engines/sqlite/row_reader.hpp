// Look-ups on one SQLite connection, as plain blocking calls inside the caller's transaction.
#pragma once

#include "engines/catalog.hpp"
#include "engines/sqlite/database.hpp"

namespace cairn::sqlite {

class row_reader {
public:
    // `connection` outlives the reader.
    static result<row_reader> prepare(database& connection);

    // As the calls of `catalog` of the same names.
    result<std::optional<row>> find(const blob_id& id);
    result<std::vector<row>> list(const std::optional<blob_id>& after, std::size_t limit);
    result<std::vector<locator>> reclaimable(std::size_t limit);
    result<std::vector<segment_row>> segments(std::uint64_t after,
                                              std::size_t limit,
                                              bool only_unsealed);
    result<catalog_counts> count();

private:
    statement find_;
    statement first_page_;
    statement next_page_;
    statement reclaimable_;
    statement segments_;
    statement unsealed_;
    statement count_;
};

}  // namespace cairn::sqlite
