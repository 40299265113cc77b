// The catalog on SQLite: a writer strand and a few reader threads over one file in WAL mode.
//
// The file belongs to one process at a time; the folder's lock sees to that (store/folder.hpp).
// Look-ups of one id always go to the same reader.
#pragma once

#include "engines/catalog.hpp"
#include "engines/sqlite/gate.hpp"
#include "engines/sqlite/reader.hpp"
#include "engines/sqlite/writer.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/runtime.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cairn {

class sqlite_catalog final : public catalog {
public:
    // Opens or creates `path`; its folder exists. Raises the boot. `stop` outlives the catalog.
    // errc::incompatible for a file that is not a catalog of a known format; errc::restored_copy
    // for a backup, and for a catalog whose boot is below `boot_known`, which its folder remembers:
    // then the file is left as it is, so that it is refused again. errc::absent when there is no
    // file although the folder remembers one.
    static awaitable<result<std::unique_ptr<sqlite_catalog>>> open(runtime& threads,
                                                                   std::filesystem::path path,
                                                                   fail_stop& stop,
                                                                   std::uint64_t boot_known = 0);
    ~sqlite_catalog() override;

    // Chosen at creation; the folder remembers it.
    const std::string& incarnation() const noexcept { return writer_->incarnation(); }
    group_commit_counts commit_counts() const noexcept { return writer_->counts(); }

    std::string name() const override { return "sqlite"; }
    std::uint64_t boot() const noexcept override { return writer_->boot(); }
    awaitable<result<applied>> commit(change what) override;
    awaitable<result<std::optional<row>>> find(blob_id id) override;
    awaitable<result<std::vector<row>>> list(std::optional<blob_id> after,
                                             std::size_t limit) override;
    awaitable<result<std::vector<locator>>> reclaimable(std::size_t limit) override;
    awaitable<result<std::vector<segment_row>>> segments(std::uint64_t after,
                                                         std::size_t limit,
                                                         bool only_unsealed) override;
    awaitable<result<catalog_counts>> count() override;
    awaitable<result<void>> copy_to(std::filesystem::path to,
                                    std::uint64_t size_bytes_max) override;
    awaitable<void> close() override;

private:
    explicit sqlite_catalog(runtime& threads) : threads_(threads) {}
    result<void> start(const std::filesystem::path& path,
                       fail_stop& stop,
                       std::uint64_t boot_known);

    runtime& threads_;
    sqlite::gate gate_;
    std::unique_ptr<sqlite::writer> writer_;
    std::vector<std::unique_ptr<sqlite::reader>> readers_;
};

}  // namespace cairn
