#include "io/fault_plan.hpp"

#include <cerrno>
#include <numeric>

namespace cairn {
namespace {

std::size_t index_of(file_call call) noexcept { return static_cast<std::size_t>(call); }

}  // namespace

void fault_plan::add(fault planned) {
    std::lock_guard lock(mutex_);
    planned_.push_back({.what = planned});
}

void fault_plan::clear() {
    std::lock_guard lock(mutex_);
    planned_.clear();
}

std::optional<fault_kind> fault_plan::next(file_call call) {
    std::lock_guard lock(mutex_);
    ++counts_[index_of(call)];
    std::optional<fault_kind> due;
    for (auto& [what, seen] : planned_) {
        if (what.call.value_or(call) != call) continue;
        ++seen;
        const bool now = what.sticky ? seen >= what.nth : seen == what.nth;
        if (now && !due) due = what.kind;
    }
    if (due) ++faults_[index_of(call)];
    return due;
}

result<void> fault_plan::admit(file_call call) {
    const auto due = next(call);
    if (!due || *due == fault_kind::short_transfer) return {};
    return system_error_from(error_number_of(*due));
}

std::uint64_t fault_plan::calls(file_call call) const {
    std::lock_guard lock(mutex_);
    return counts_[index_of(call)];
}

std::uint64_t fault_plan::calls() const {
    std::lock_guard lock(mutex_);
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::uint64_t fault_plan::faults(file_call call) const {
    std::lock_guard lock(mutex_);
    return faults_[index_of(call)];
}

std::uint64_t fault_plan::faults() const {
    std::lock_guard lock(mutex_);
    return std::accumulate(faults_.begin(), faults_.end(), std::uint64_t{0});
}

int error_number_of(fault_kind kind) noexcept {
    switch (kind) {
        case fault_kind::io_error: return EIO;
        case fault_kind::no_space: return ENOSPC;
        case fault_kind::interrupted: return EINTR;
        case fault_kind::again: return EAGAIN;
        case fault_kind::short_transfer: return 0;
    }
    return EIO;
}

}  // namespace cairn
