#include "http/progress_meter.hpp"

#include <doctest/doctest.h>

namespace cairn {

using namespace std::chrono_literals;

TEST_CASE("progress: a period with too few bytes fails when it ends, not before") {
    progress_meter meter(30s, 1024);
    CHECK(meter.note(0, 29s));
    CHECK(meter.note(30 * 1024 - 1, 500ms));
    CHECK_FALSE(meter.note(0, 500ms));
}

TEST_CASE("progress: enough bytes begin a new period, wherever in the old one they came") {
    progress_meter meter(30s, 1024);
    CHECK(meter.note(30 * 1024, 0s));
    CHECK(meter.note(0, 30s));
    CHECK_FALSE(meter.note(0, 30s));
}

TEST_CASE("progress: only time spent waiting counts") {
    progress_meter meter(30s, 1024);
    const deadline now{};
    CHECK(meter.due(now) == now + 30s);
    CHECK(meter.note(1, 10s));
    CHECK(meter.due(now + 5h) == now + 5h + 20s);
}

}  // namespace cairn
