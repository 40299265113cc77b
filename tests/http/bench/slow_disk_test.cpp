#include "http/cairn/bench/slow_disk.hpp"

#include <doctest/doctest.h>

namespace cairn::bench {

using namespace std::chrono_literals;

TEST_CASE("slow disk: a flush on an idle one takes the delay") {
    slow_disk disk(8ms);
    const slow_disk::clock::time_point start{1h};
    CHECK(disk.done_at(start) == start + 8ms);
    CHECK(disk.done_at(start + 100ms) == start + 108ms);
}

TEST_CASE("slow disk: who comes during a flush waits for its end, and shares the next one") {
    slow_disk disk(8ms);
    const slow_disk::clock::time_point start{1h};
    CHECK(disk.done_at(start) == start + 8ms);
    CHECK(disk.done_at(start + 1ms) == start + 16ms);
    CHECK(disk.done_at(start + 7ms) == start + 16ms);
    CHECK(disk.done_at(start + 9ms) == start + 24ms);
    CHECK(disk.done_at(start + 15ms) == start + 24ms);
    CHECK(disk.done_at(start + 24ms) == start + 32ms);
}

TEST_CASE("slow disk: without a delay it is as fast as the real one") {
    slow_disk disk;
    const slow_disk::clock::time_point start{1h};
    CHECK(disk.done_at(start) == start);
    CHECK(disk.done_at(start) == start);
}

}  // namespace cairn::bench
