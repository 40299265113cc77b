#include "runtime/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace cairn {

void check_failed(const char* condition, const char* file, int line) noexcept {
    std::fprintf(stderr, "cairn: check failed: %s at %s:%d\n", condition, file, line);
    std::abort();
}

}  // namespace cairn
