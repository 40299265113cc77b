// Which calls on files shall fail, and how: the n-th of a kind, or of any kind, once or from then
// on.
//
// The memory twin asks it before each call that it pretends to make to a kernel, so a transfer of
// many pieces asks many times; a decorator over real files asks once for each call through the
// seam. A suite that fails every call in turn counts the calls of a good run first. Any thread.
#pragma once

#include "runtime/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace cairn {

enum class file_call : std::uint8_t {
    open,
    read,
    try_read,
    write,
    sync,
    preallocate,
    punch,
    truncate,
    size,
    remove,
    rename,
    make_directory,
    sync_directory,
    list,
    space,
};
inline constexpr std::size_t file_call_count = 15;

enum class fault_kind : std::uint8_t {
    io_error,        // EIO
    no_space,        // ENOSPC
    interrupted,     // EINTR: a transfer is called again; a sync fails with it
    again,           // EAGAIN: a transfer is called again; a try_read finds nothing cached
    short_transfer,  // a transfer moves a part; nothing to other calls
};

struct fault {
    fault_kind kind = fault_kind::io_error;
    std::optional<file_call> call;  // empty: calls of any kind count
    std::uint64_t nth = 1;          // counted from when it was added: 1 is the next one
    bool sticky = false;            // that call and all such calls after it
};

class fault_plan {
public:
    void add(fault planned);
    // Forgets what was planned; the counts stay.
    void clear();

    // Counts the call and says what shall become of it.
    std::optional<fault_kind> next(file_call call);
    // As next(), for calls that fail or do not: success where only a transfer could feel the fault.
    result<void> admit(file_call call);

    std::uint64_t calls(file_call call) const;
    std::uint64_t calls() const;                 // of any kind
    std::uint64_t faults(file_call call) const;  // calls that were failed
    std::uint64_t faults() const;

private:
    struct planned_fault {
        fault what;
        std::uint64_t seen = 0;
    };

    mutable std::mutex mutex_;
    std::vector<planned_fault> planned_;
    std::array<std::uint64_t, file_call_count> counts_{};
    std::array<std::uint64_t, file_call_count> faults_{};
};

// The errno of a fault; 0 for a short transfer.
int error_number_of(fault_kind kind) noexcept;

}  // namespace cairn
