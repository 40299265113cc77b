#include "io/ring_file_system.hpp"

#include <utility>

namespace cairn {

ring_file_system::ring_file_system(runtime& on) : posix_file_system(on) {
    for (std::size_t i = 0; i < on.size(); ++i) rings_.push_back(&ring::of(on.at(i).context()));
}

awaitable<operation> ring_file_system::perform(operation work) {
    ring* chosen = ring::of_this_thread();
    if (chosen == nullptr) {
        chosen = rings_[turn_.fetch_add(1, std::memory_order_relaxed) % rings_.size()];
    }
    return chosen->run(std::move(work));
}

}  // namespace cairn
