#include "io/ring_file_system.hpp"

#include <utility>

namespace cairn {

ring_file_system::ring_file_system(runtime& on)
    : posix_file_system(on), for_others_(ring::of(on.engine().context())) {
    for (std::size_t i = 0; i < on.size(); ++i) ring::of(on.at(i).context());
}

awaitable<operation> ring_file_system::perform(operation work) {
    ring* const here = ring::of_this_thread();
    ring& chosen = here != nullptr ? *here : for_others_;
    return chosen.run(std::move(work));
}

}  // namespace cairn
