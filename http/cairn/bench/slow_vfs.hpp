// SQLite on this_disk(): each sync of a database takes its flush as well, ours and the rival's.
//
// While one lives it is SQLite's default VFS, so databases that are opened meanwhile go through it.
// They are closed before it goes.
#pragma once

#include <chrono>

struct sqlite3;

namespace cairn::bench {

class slow_vfs {
public:
    slow_vfs();
    ~slow_vfs();
    slow_vfs(const slow_vfs&) = delete;
    slow_vfs& operator=(const slow_vfs&) = delete;

    // What a sync of this connection's database takes on top.
    static std::chrono::milliseconds delay_of(sqlite3* connection);
};

}  // namespace cairn::bench
