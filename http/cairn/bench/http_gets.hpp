// GET of one hot blob over HTTP: the server's processor time for a request, cairn against nginx.
#pragma once

#include "http/cairn/bench/contender.hpp"
#include "http/cairn/bench/load.hpp"

#include <filesystem>
#include <memory>

namespace cairn::bench {

// Both serve from one thread. The value of a sample is microseconds of the server's processor time
// for a request.
std::unique_ptr<contender> cairn_gets(std::filesystem::path folder, get_load load);
std::unique_ptr<contender> nginx_gets(std::filesystem::path folder, get_load load);

}  // namespace cairn::bench
