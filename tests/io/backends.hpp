// What stands behind the file seam, one type each, so that one suite of promises runs on all.
//
// A backend has available(), a file system, a root folder that exists, and run(), which runs a
// coroutine to its end where this backend is at home.
#pragma once

#include "io/memory_file_system.hpp"
#include "io/pool_file_system.hpp"
#include "io/ring_file_system.hpp"
#include "runtime/runtime.hpp"
#include "tests/support/run_coro.hpp"
#include "tests/support/temp_dir.hpp"

#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <utility>

namespace cairn::test {

inline runtime_options two_threads() {
    runtime_options options;
    options.threads = 2;
    return options;
}

inline bool ring_available() {
    static const std::string refusal = ring::refusal();
    if (!refusal.empty()) MESSAGE("skipped, io_uring is refused here: ", refusal);
    return refusal.empty();
}

// On a loop thread, so that operations run on the caller's own ring.
struct ring_on_its_loop {
    static bool available() { return ring_available(); }
    template <class T>
    T run(awaitable<T> work) {
        return on.run(std::move(work));
    }

    temp_dir folder;
    std::filesystem::path root = folder.path();
    runtime on{two_threads()};
    ring_file_system files{on};
};

// On a context of the test's own, so that operations are posted to a ring and come back.
struct ring_from_elsewhere {
    static bool available() { return ring_available(); }
    template <class T>
    T run(awaitable<T> work) {
        asio::io_context here;
        return run_coro(here, std::move(work));
    }

    temp_dir folder;
    std::filesystem::path root = folder.path();
    runtime on{two_threads()};
    ring_file_system files{on};
};

struct thread_pool {
    static bool available() { return true; }
    template <class T>
    T run(awaitable<T> work) {
        return on.run(std::move(work));
    }

    temp_dir folder;
    std::filesystem::path root = folder.path();
    runtime on{two_threads()};
    pool_file_system files{on};
};

struct memory {
    static bool available() { return true; }
    template <class T>
    T run(awaitable<T> work) {
        asio::io_context here;
        return run_coro(here, std::move(work));
    }

    std::filesystem::path root = "/";
    memory_file_system files;
};

// Bytes that depend on the seed, so that bytes in the wrong place show.
inline buffer pattern(std::size_t size_bytes, unsigned seed = 0) {
    buffer made = buffer::allocate(size_bytes);
    for (std::size_t i = 0; i < size_bytes; ++i) {
        made.mutable_data()[i] = static_cast<std::byte>((i * 131 + i / 251 + seed * 17) & 0xff);
    }
    return made;
}

}  // namespace cairn::test

#define CAIRN_BACKENDS                                                                         \
    cairn::test::ring_on_its_loop, cairn::test::ring_from_elsewhere, cairn::test::thread_pool, \
        cairn::test::memory
