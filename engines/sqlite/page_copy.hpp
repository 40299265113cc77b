// A copy of a database, made a few pages at a time while the database is written to.
//
// It reads through the connection that writes, so that what is committed meanwhile goes into the
// copy as well and no copy ever starts anew. One thread at a time: that of the connection.
#pragma once

#include "engines/sqlite/database.hpp"
#include "runtime/result.hpp"

#include <filesystem>
#include <memory>

struct sqlite3_backup;

namespace cairn::sqlite {

class page_copy {
public:
    // `from` outlives it; `to` is a file that does not exist yet.
    static result<page_copy> begin(database& from, const std::filesystem::path& to);

    // Copies up to `pages` more; false when the file is complete, though not synced. After false or
    // an error the object is only good for destruction.
    result<bool> step(int pages);

private:
    struct finish {
        void operator()(sqlite3_backup* backup) const noexcept;
    };

    page_copy(database to, sqlite3_backup* backup) : to_(std::move(to)), backup_(backup) {}

    database to_;  // outlives backup_
    std::unique_ptr<sqlite3_backup, finish> backup_;
};

}  // namespace cairn::sqlite
