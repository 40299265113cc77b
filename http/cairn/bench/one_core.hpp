// While one lives, its thread runs on one core, and so does every process that it starts.
#pragma once

#include <sched.h>

namespace cairn::bench {

class one_core {
public:
    one_core() {
        ::sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
            if (CPU_ISSET(i, &before_)) CPU_SET(i, &one);
        }
        ::sched_setaffinity(0, sizeof one, &one);
    }
    ~one_core() { ::sched_setaffinity(0, sizeof before_, &before_); }
    one_core(const one_core&) = delete;
    one_core& operator=(const one_core&) = delete;

private:
    cpu_set_t before_{};
};

}  // namespace cairn::bench
