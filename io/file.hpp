// The one seam between cairn and its files: a file, and the file system that opens it.
//
// Three things stand behind it: the io_uring ring (ring_file_system), a thread pool for where
// io_uring is refused (pool_file_system), and a twin in memory with a fault plan
// (memory_file_system). The same tests run on all three, and the fault suites decorate any of them.
//
// All calls may be awaited from any executor and resume the caller there. None can be taken back
// once it began: a cancelled caller still waits for the end of its operation and gets its result
// (`completes`), because the kernel owns the bytes until then. Operations keep their buffer and
// their file alive themselves. Nothing here orders operations: await one before you start the next.
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/bytes.hpp"
#include "runtime/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cairn {

class file {
public:
    virtual ~file() = default;

    // The bytes [offset, offset + size_bytes), fewer only where the file ends. Answers without
    // suspending when they are in memory already.
    virtual awaitable<result<buffer>> read_at(std::uint64_t offset, std::size_t size_bytes) = 0;

    // As read_at(), but never waits and may be called from any thread: nothing when the bytes are
    // not all in memory.
    virtual std::optional<buffer> try_read_at(std::uint64_t offset, std::size_t size_bytes) = 0;

    // Writes all of the pieces, one behind the other (short transfers and EINTR are repeated), or
    // fails; after a failure any part of the range may have been written.
    virtual awaitable<result<void>> write_at(std::uint64_t offset, std::vector<buffer> pieces) = 0;
    awaitable<result<void>> write_at(std::uint64_t offset, buffer bytes) {
        return write_at(offset, std::vector<buffer>{std::move(bytes)});
    }

    // fdatasync of what was written to that range, so that what others are writing elsewhere in the
    // file need not be waited for. An error is final, for the whole file: the bytes written since
    // the last good sync may be gone, and a second sync would lie (SAFETY.md R6).
    virtual awaitable<result<void>> sync(byte_range written) = 0;
    awaitable<result<void>> sync() { return sync(byte_range{}); }  // of all of it

    // Takes the space of [0, size_bytes) now and makes the file that long, so that later writes
    // change no metadata and cannot run out of space. A file system that cannot do so is success.
    virtual awaitable<result<void>> preallocate(std::uint64_t size_bytes) = 0;

    // Gives the space of a range back; it reads as zeros. Where that cannot be done: success.
    virtual awaitable<result<void>> punch(std::uint64_t offset, std::uint64_t size_bytes) = 0;

    virtual awaitable<result<void>> truncate(std::uint64_t size_bytes) = 0;
    virtual awaitable<result<std::uint64_t>> size() = 0;

    // For sendfile; -1 when there is no descriptor. Lives as long as this file.
    virtual int native_handle() const noexcept = 0;
};

enum class open_mode {
    read,        // must exist
    read_write,  // must exist
    create,      // must not exist; read and write
};

// Of the disk that holds a path.
struct disk_space {
    std::uint64_t free_bytes = 0;  // that this process may still take
    std::uint64_t total_bytes = 0;
};

class file_system {
public:
    virtual ~file_system() = default;

    // What stands behind the seam, for status and logs: "io_uring", "thread pool", "memory".
    virtual std::string name() const = 0;

    // ENOENT, EEXIST and the like as errors of the system category.
    virtual awaitable<result<std::shared_ptr<file>>> open(std::filesystem::path path,
                                                          open_mode mode) = 0;

    // Absent is success.
    virtual awaitable<result<void>> remove(std::filesystem::path path) = 0;

    // Replaces `to` if it exists. Durable after sync_directory() of its folder.
    virtual awaitable<result<void>> rename(std::filesystem::path from,
                                           std::filesystem::path to) = 0;

    // Already there is success. The parent must exist.
    virtual awaitable<result<void>> make_directory(std::filesystem::path path) = 0;

    // Makes what was created, renamed and removed in this folder durable.
    virtual awaitable<result<void>> sync_directory(std::filesystem::path path) = 0;

    // File names, sorted, without folders.
    virtual awaitable<result<std::vector<std::string>>> list(std::filesystem::path path) = 0;

    virtual awaitable<result<disk_space>> space(std::filesystem::path path) = 0;
};

}  // namespace cairn
