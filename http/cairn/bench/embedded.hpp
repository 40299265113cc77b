// Load on a store that is opened in this process: the callers are coroutines of one thread.
#pragma once

#include "http/cairn/bench/contender.hpp"
#include "http/cairn/bench/puts.hpp"
#include "store/open_store.hpp"

#include <memory>
#include <string>

namespace cairn::bench {

struct embedded_store {
    std::string what;  // for people
    store_options options;
    std::shared_ptr<const void> stands_on;  // kept until the store is closed: its server
};

struct read_load {
    std::size_t size_bytes = 1024;
    std::size_t callers = 1;
    std::size_t blobs = 20'000;  // put before the first run, then read at random
};

std::unique_ptr<contender> puts_into(embedded_store in, put_load load);
std::unique_ptr<contender> reads_from(embedded_store in, read_load load);

}  // namespace cairn::bench
