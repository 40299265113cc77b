// Makes a folder's catalog anew: from a backup of it, or from nothing, and from what the segments
// hold. The way back when catalog.db is damaged, lost, or older than its folder.
//
// The backup's rows stay whose bytes are still there. A record in a segment becomes a blob when its
// bytes hash to its id and the backup does not know better: a segment that the backup knows as
// sealed holds nothing that came later. What cannot come back: blobs of at most 4 KiB that were put
// after the backup, for their bytes were in the catalog. What may come back although it was
// removed: blobs removed after the backup, and without a backup any whose segment is still there.
//
// Where the disk cannot read a segment, what lies there is lost and the rest is not; the records
// around it are found all the same. It believes that what it reads is on the disk: after a sync
// that failed, restart the machine first, for the page cache may hold more.
//
// The new catalog is built beside the old one and takes its place at the end; the old one is kept
// in DIR/before-rebuild-<time>. Ended in the middle, a rebuild is simply run again.
#pragma once

#include "io/open_file_system.hpp"
#include "runtime/result.hpp"
#include "runtime/runtime.hpp"
#include "store/comparison.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cairn {

struct rebuild_options {
    std::filesystem::path data;  // the folder
    // The backup, or any other catalog file, to begin with; empty: the newest in DIR/backups, or
    // none.
    std::filesystem::path from;
    bool force = false;  // also when the catalog in place is sound
    bool allow_weak_storage = false;
    io_choice io = io_choice::automatic;
    // As in store_options.
    std::function<std::unique_ptr<file_system>(std::unique_ptr<file_system>)> wrap_files;
};

// Is told how it goes, on the caller's executor. Override what matters.
class rebuild_watcher {
public:
    virtual ~rebuild_watcher() = default;

    virtual void scanned(std::uint64_t bytes) { static_cast<void>(bytes); }
    virtual void recovered(const listed_blob&) {}
    // The backup has its row, and its bytes are gone: most likely it was removed since.
    virtual void lost(const listed_blob&) {}
};

struct rebuild_report {
    bool needless = false;                    // the catalog in place is sound: nothing was done
    std::filesystem::path from;               // what it began with; empty: nothing
    std::optional<std::int64_t> taken_at_us;  // of the backup, since 1970
    blob_count kept;
    blob_count recovered;
    blob_count lost;
    std::uint64_t bad_records = 0;       // whose bytes do not hash to their id
    std::uint64_t unreadable_bytes = 0;  // of segments: the disk cannot read them
    std::filesystem::path old_catalog;   // where it is kept; empty: there was none
};

// Errors: those of folder::open(); errc::incompatible when `from` is no catalog; those of files and
// of SQLite; they are logged with the file they concern. The store is then as it was, or refuses to
// be opened until a rebuild has ended. `threads` and `watcher` outlive the call.
awaitable<result<rebuild_report>> rebuild(runtime& threads,
                                          rebuild_options options,
                                          rebuild_watcher& watcher);

}  // namespace cairn
