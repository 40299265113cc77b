// GET of one hot blob over HTTP: the server's processor time for a request, cairn against nginx.
#pragma once

#include "http/cairn/bench/contender.hpp"

#include <filesystem>
#include <memory>

namespace cairn::bench {

struct get_load {
    std::size_t size_bytes = 1024;
    std::size_t connections = 1;
};

// Both serve from one thread. The value of a sample is microseconds of the server's processor time
// for a request.
std::unique_ptr<contender> cairn_gets(std::filesystem::path folder, get_load load);
std::unique_ptr<contender> nginx_gets(std::filesystem::path folder, get_load load);

}  // namespace cairn::bench
