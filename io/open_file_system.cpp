#include "io/open_file_system.hpp"

#include "io/pool_file_system.hpp"
#include "io/ring_file_system.hpp"
#include "runtime/log.hpp"

#include <boost/system/system_error.hpp>
#include <exception>
#include <string>

namespace cairn {
namespace {

std::unique_ptr<file_system> fall_back(runtime& on, const std::string& reason) {
    log_warn("io", "io_uring is not available: {}; using the thread pool", reason);
    return std::make_unique<pool_file_system>(on);
}

}  // namespace

std::unique_ptr<file_system> open_file_system(runtime& on, io_choice choice) {
    if (choice == io_choice::pool) return std::make_unique<pool_file_system>(on);
    const std::string refusal = ring::refusal();
    if (!refusal.empty()) {
        if (choice == io_choice::automatic) return fall_back(on, refusal);
        throw boost::system::system_error(errc::unsupported, "io_uring: " + refusal);
    }
    try {
        return std::make_unique<ring_file_system>(on);
    } catch (const boost::system::system_error& e) {
        // One ring was granted and the next was not: a limit on locked memory.
        if (choice == io_choice::ring) throw;
        return fall_back(on, e.what());
    }
}

}  // namespace cairn
