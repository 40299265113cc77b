#include "engines/postgres/prepared.hpp"

#include "runtime/check.hpp"

#include <utility>

namespace cairn::postgres {
namespace {

bool fits(const std::vector<std::uint32_t>& types, const parameters& with) noexcept {
    if (types.size() != with.size()) return false;
    for (std::size_t i = 0; i < types.size(); ++i) {
        // A null fits any type; what was null first took its type from the text.
        if (types[i] != with.type(i) && types[i] != 0 && !with.is_null(i)) return false;
    }
    return true;
}

}  // namespace

const char* prepared::find(const statement& what, const parameters& with) const {
    const auto found = entries_.find(std::string_view(what.name));
    if (found == entries_.end()) return nullptr;
    CAIRN_CHECK(fits(found->second.types, with));
    return found->second.server_name.c_str();
}

const char* prepared::add(const statement& what, const parameters& with) {
    entry made{.server_name = what.name, .types = {}};
    if (forgotten_ > 0) made.server_name += "_" + std::to_string(forgotten_);
    for (std::size_t i = 0; i < with.size(); ++i) made.types.push_back(with.type(i));
    return entries_.insert_or_assign(what.name, std::move(made)).first->second.server_name.c_str();
}

void prepared::forget(std::string_view name) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) return;
    entries_.erase(found);
    ++forgotten_;
}

}  // namespace cairn::postgres
