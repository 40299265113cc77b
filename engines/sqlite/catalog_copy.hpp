// What becomes of a copied catalog file: a marked copy that is kept, or the beginning of a new
// catalog. Both block.
#pragma once

#include "runtime/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace cairn::sqlite {

// Makes what page_copy wrote one file, complete without a log beside it, that says of itself that
// it is a copy and when it was taken. Not synced.
result<void> finish_copy(const std::filesystem::path& copy, std::int64_t taken_at_us);

// Makes a new catalog at `to`, where no file is, with the rows of `from`, a catalog or a marked
// copy of one; without `from` an empty one. Its boot is `boot` at least. Answers when `from` was
// taken, if it is a marked copy. Durable. errc::incompatible when `from` is no catalog,
// errc::corrupt when it is a damaged one.
result<std::optional<std::int64_t>> begin_catalog(const std::filesystem::path& to,
                                                  const std::filesystem::path& from,
                                                  std::uint64_t boot);

}  // namespace cairn::sqlite
