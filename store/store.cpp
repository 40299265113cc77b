#include "store/store.hpp"

namespace cairn {

std::string_view to_string(durability level) noexcept {
    switch (level) {
        case durability::full: return "full";
        case durability::replicated: return "replicated";
        case durability::none: return "none";
    }
    return "unknown";
}

}  // namespace cairn
