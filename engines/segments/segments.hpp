// Keeps byte strings in append-only files, `segments/<boot>-<n>`; safe for any number of callers.
//
// A byte string of known length up to shared_record_bytes_max is a record in the open segment: its
// space is reserved, its windows are written there as they arrive, and the ends of all records that
// are complete by then are written together and paid for by one fdatasync. A larger one, one of
// unknown length, and one that takes longer than reservation_time is a segment of its own, with one
// record and a sync of its own.
//
// Nothing is visible through this class: the catalog row is the only publication (SAFETY.md R1).
// The catalog also is the ledger of segments: a segment's row commits before its file is made, so
// recovery visits unsealed rows of ended boots and no directory is ever searched. There it puts
// again what stands in the log alone (engines/log_commits.hpp). Cancelling write() leaves dead
// space, which is given back.
#pragma once

#include "engines/bulk.hpp"
#include "engines/catalog.hpp"
#include "engines/lru.hpp"
#include "engines/segments/log_writer.hpp"
#include "engines/segments/record_checks.hpp"
#include "engines/segments/record_writer.hpp"
#include "engines/segments/segment_maker.hpp"
#include "engines/segments/shared_space.hpp"
#include "io/file.hpp"
#include "runtime/fail_stop.hpp"
#include "runtime/runtime.hpp"

#include <chrono>
#include <filesystem>
#include <memory>

namespace cairn {

struct segments_options {
    std::uint64_t segment_bytes = 256 << 20;
    std::uint64_t shared_record_bytes_max = 4 << 20;
    std::chrono::steady_clock::duration reservation_time = std::chrono::seconds(10);
    std::size_t open_files_max = 256;
    std::size_t checks_bytes_max = 32 << 20;  // memory for checksums of records that are read
    verifying verify = verifying::first;
};

class segments final : public bulk {
public:
    // Makes the folder if needed and ends what earlier boots left unsealed: bounded by what was in
    // flight when they stopped, not by the size of the store. Everything outlives it.
    static awaitable<result<std::unique_ptr<segments>>> open(runtime& threads,
                                                             file_system& files,
                                                             std::filesystem::path folder,
                                                             catalog& ledger,
                                                             fail_stop& stop,
                                                             segments_options options = {});

    group_commit_counts sync_counts() const noexcept { return log_.counts(); }

    std::string name() const override { return "segments on " + files_.name(); }
    awaitable<result<std::unique_ptr<draft>>> write(intake& body) override;
    awaitable<result<std::unique_ptr<source>>> read(extent stored, byte_range range) override;
    awaitable<result<void>> erase(locator at) override;
    awaitable<result<std::vector<found_record>>> scan(locator after,
                                                      std::uint64_t last_container,
                                                      std::size_t limit) override;
    awaitable<void> close() override;

private:
    using file_ptr = std::shared_ptr<file>;
    class shared_draft;
    class own_draft;

    segments(executor home,
             file_system& files,
             std::filesystem::path folder,
             catalog& ledger,
             fail_stop& stop,
             segments_options options);

    awaitable<result<void>> recover();
    awaitable<void> recover_one(segment_row left, error_code& lost);
    awaitable<result<void>> end(segment_row left, bool& holds_puts);

    using draft_result = result<std::unique_ptr<draft>>;
    awaitable<draft_result> write_shared(intake& body, shared_space::reservation place);
    awaitable<draft_result> write_alone(intake& body);
    awaitable<draft_result> continue_alone(intake& body,
                                           record_writer writer,
                                           unfinished_segment place);
    awaitable<result<void>> unmake(file_ptr in, locator at);
    awaitable<void> withdraw_later(std::shared_ptr<shared_space::reservation> place, locator at);

    awaitable<result<file_ptr>> reading_file(std::uint64_t segment);
    awaitable<result<std::shared_ptr<record_checks>>> checks_of(file_ptr from, extent stored);

    const executor home_;
    file_system& files_;
    const std::filesystem::path folder_;
    catalog& ledger_;
    fail_stop& stop_;
    const segments_options options_;
    segment_maker maker_;
    log_writer log_;
    shared_space shared_;
    // Apart from fresh records: these are not replayed, since what is removed while its copy is
    // written must not come back, and what has lasted until now dies at another time.
    shared_space moved_;
    lru<std::uint64_t, file_ptr> reading_files_;
    struct locator_hash {
        std::size_t operator()(const locator& at) const noexcept {
            return (at.container * 0x9e3779b97f4a7c15U) ^ at.offset;
        }
    };
    lru<locator, std::shared_ptr<record_checks>, locator_hash> checks_;
};

}  // namespace cairn
