// How much is asked of both sides of a comparison.
#pragma once

#include <cstddef>

namespace cairn::bench {

struct put_load {
    std::size_t size_bytes = 1024;
    std::size_t callers = 1;
    std::size_t blobs = 0;  // of the same size, which are there before the first run
};

struct read_load {
    std::size_t size_bytes = 1024;
    std::size_t callers = 1;
    std::size_t blobs = 20'000;  // put before the first run, then read at random
};

// By one caller.
struct replay_load {
    std::size_t size_bytes = 1024;
    std::size_t blobs = 20'000;  // put before the first run
};

// Of one hot blob over HTTP.
struct get_load {
    std::size_t size_bytes = 1024;
    std::size_t connections = 1;
};

}  // namespace cairn::bench
