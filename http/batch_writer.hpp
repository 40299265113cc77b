// Stores the blobs of one `POST /blobs/write`.
//
// Small ones are put side by side while the body is read on, so that they share group commits; a
// large one goes from the body to the store by itself. What befalls one blob is its own outcome and
// no other's.
#pragma once

#include "http/frame_reader.hpp"
#include "runtime/semaphore.hpp"
#include "runtime/task_scope.hpp"
#include "store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cairn {

class batch_writer {
public:
    // What became of one entry, in the words of HTTP.
    struct outcome {
        blob_id id;
        int status = 0;  // as a PUT of it would be answered
        bool created = false;
        std::string_view type;  // of the problem; empty when there is none
    };

    // Store, body and `ahead` (bytes that all batches may hold in memory) outlive it. Everything
    // runs on `home`, the body's executor.
    batch_writer(executor home,
                 store& to,
                 frame_reader& body,
                 semaphore& ahead,
                 std::uint64_t blob_bytes_max);

    // Reads to the body's end; the outcomes in the body's order, every one final. An error of the
    // body, or errc::too_large for more than batch_entries_max entries: entries before it may be
    // stored. Cancelled: likewise, throws. Called once.
    awaitable<result<std::vector<outcome>>> run();

private:
    awaitable<result<void>> read_all();
    awaitable<result<void>> begin(blob_frame frame);
    awaitable<void> put_small(std::size_t index,
                              buffer bytes,
                              semaphore::permit held,
                              semaphore::permit slot);
    awaitable<result<void>> put_large(std::size_t index);
    void settle(std::size_t index, const result<receipt>& stored);
    void refuse(std::size_t index, const error_code& why);

    store& to_;
    frame_reader& body_;
    semaphore& ahead_;
    const std::uint64_t blob_bytes_max_;
    std::vector<outcome> outcomes_;
    semaphore slots_;
    task_scope puts_;
};

}  // namespace cairn
