// Fails the running test case for every complaint, and shows the first few.
#pragma once

#include <algorithm>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace cairn::test {

inline void expect_nothing(const std::vector<std::string>& complaints) {
    constexpr std::size_t shown = 10;
    for (std::size_t i = 0; i < std::min(shown, complaints.size()); ++i) MESSAGE(complaints[i]);
    CHECK(complaints.size() == 0);
}

}  // namespace cairn::test
