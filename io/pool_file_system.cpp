#include "io/pool_file_system.hpp"

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace cairn {
namespace {

int make_next_call(operation& work) {
    ssize_t answer = -1;
    const auto offset = static_cast<off_t>(work.offset());
    switch (work.what()) {
        case operation::kind::read:
            answer = ::pread(work.descriptor(), work.data(), work.size(), offset);
            break;
        case operation::kind::write:
            answer = ::pwrite(work.descriptor(), work.data(), work.size(), offset);
            break;
        case operation::kind::sync: answer = ::fdatasync(work.descriptor()); break;
    }
    return answer < 0 ? -errno : static_cast<int>(answer);
}

}  // namespace

awaitable<operation> pool_file_system::perform(operation work) {
    auto call = [work = std::move(work)]() mutable {
        while (!work.finished()) work.advance(make_next_call(work));
        return std::move(work);
    };
    return pool().run(std::move(call));
}

}  // namespace cairn
