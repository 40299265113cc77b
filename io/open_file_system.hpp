// Chooses, once at the start, what stands behind the file seam.
#pragma once

#include "io/file.hpp"
#include "runtime/runtime.hpp"

#include <memory>

namespace cairn {

enum class io_choice {
    automatic,  // io_uring where the kernel lets us, else the thread pool, with one line in the log
    ring,
    pool,
};

// The runtime outlives the file system. Throws system_error when `ring` was asked for by name and
// is refused. Blocks for a few system calls.
std::unique_ptr<file_system> open_file_system(runtime& on, io_choice choice = io_choice::automatic);

}  // namespace cairn
