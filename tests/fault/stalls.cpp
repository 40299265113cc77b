#include "tests/fault/stalls.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace cairn::test {
namespace {

constexpr auto worth_keeping = std::chrono::milliseconds(50);

bool overlap(const stalls::wait& one, const stalls::wait& other) {
    return one.began < other.ended && other.began < one.ended;
}

}  // namespace

stalls::stalls(const std::filesystem::path& folder)
    : file_(::open((folder / "control").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), "control");
    control_ = std::thread([this] { sync_until_stopped(); });
}

stalls::~stalls() {
    stopped_ = true;
    control_.join();
    ::close(file_);
}

void stalls::sync_until_stopped() {
    constexpr auto between = std::chrono::milliseconds(5);  // it must not be the load itself
    const char block[512] = {};
    while (!stopped_) {
        const auto began = clock::now();
        const bool synced =
            ::pwrite(file_, block, sizeof block, 0) == sizeof block && ::fdatasync(file_) == 0;
        const wait took{began, clock::now()};
        if (synced && took.ended - took.began >= worth_keeping) {
            std::lock_guard lock(mutex_);
            of_control_.push_back(took);
        }
        std::this_thread::sleep_for(between);
    }
}

void stalls::add(wait of_caller) {
    const auto time = of_caller.ended - of_caller.began;
    std::lock_guard lock(mutex_);
    longest_ = std::max(longest_, time);
    if (time >= worth_keeping) of_callers_.push_back(of_caller);
}

std::vector<stalls::wait> stalls::unexplained(clock::duration bound) const {
    std::lock_guard lock(mutex_);
    std::vector<wait> found;
    for (const wait& each : of_callers_) {
        const auto time = each.ended - each.began;
        if (time <= bound) continue;
        const auto explains = [&each, time](const wait& control) {
            return overlap(each, control) && (control.ended - control.began) * 2 >= time;
        };
        if (!std::any_of(of_control_.begin(), of_control_.end(), explains)) found.push_back(each);
    }
    return found;
}

stalls::clock::duration stalls::longest() const {
    std::lock_guard lock(mutex_);
    return longest_;
}

stalls::clock::duration stalls::longest_of_control() const {
    std::lock_guard lock(mutex_);
    clock::duration longest{};
    for (const wait& each : of_control_) longest = std::max(longest, each.ended - each.began);
    return longest;
}

}  // namespace cairn::test
