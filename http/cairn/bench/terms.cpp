#include "http/cairn/bench/terms.hpp"

#include <fmt/format.h>

namespace cairn::bench {

std::string unequal(const terms& ours, const terms& rival) {
    if (ours.does == work::yardstick || rival.does == work::yardstick) return "";
    if (ours.does != rival.does) return "fresh bytes against others";
    const bool writes = ours.does != work::reads;
    if (writes && ours.sync_delay != rival.sync_delay) {
        return fmt::format("a sync delay of {} ms against {} ms", ours.sync_delay.count(),
                           rival.sync_delay.count());
    }
    if (writes && ours.durability != rival.durability) {
        return fmt::format("durability {} against {}", ours.durability, rival.durability);
    }
    if (ours.head_bytes != rival.head_bytes) {
        return fmt::format("heads of {} bytes against {}", ours.head_bytes, rival.head_bytes);
    }
    return "";
}

}  // namespace cairn::bench
