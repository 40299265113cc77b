// Puts of what is there already: cairn embedded, what a user would do instead, and what hashing
// alone takes. One caller.
#pragma once

#include "http/cairn/bench/embedded.hpp"
#include "http/cairn/bench/load.hpp"

#include <filesystem>
#include <memory>

namespace cairn::bench {

// The caller knows the id and asks for it: all that a server does before the body.
std::unique_ptr<contender> embedded_hits(std::filesystem::path folder, replay_load load);

// The caller puts the bytes under their id: the store hashes them all.
std::unique_ptr<contender> embedded_reputs(std::filesystem::path folder, replay_load load);

// INSERT OR IGNORE into SQLite WITHOUT ROWID with pages of 4 KiB; the id is known.
std::unique_ptr<contender> sqlite_replays(std::filesystem::path folder, replay_load load);

// SHA-256 of such bodies on one core.
std::unique_ptr<contender> sha256_speed(replay_load load);

}  // namespace cairn::bench
