#include "http/batch_writer.hpp"

#include "http/batch_limits.hpp"
#include "http/problem.hpp"

#include <boost/asio/this_coro.hpp>
#include <exception>
#include <optional>
#include <utility>

namespace cairn {

batch_writer::batch_writer(
    executor home, store& to, frame_reader& body, semaphore& ahead, std::uint64_t blob_bytes_max)
    : to_(to),
      body_(body),
      ahead_(ahead),
      blob_bytes_max_(blob_bytes_max),
      slots_(batch_at_once),
      puts_(std::move(home)) {}

awaitable<result<std::vector<batch_writer::outcome>>> batch_writer::run() {
    result<void> read;
    std::exception_ptr thrown;
    try {
        read = co_await read_all();
        // Unlike join(), the slots hear of a cancellation.
        const auto all = co_await slots_.acquire(batch_at_once);
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown) {
        co_await asio::this_coro::reset_cancellation_state();
        puts_.request_stop();
    }
    co_await puts_.join();
    if (thrown) std::rethrow_exception(thrown);
    if (!read) co_return read.error();
    co_return std::move(outcomes_);
}

awaitable<result<void>> batch_writer::read_all() {
    for (;;) {
        const auto frame = co_await body_.next_frame();
        if (!frame) co_return frame.error();
        if (!*frame) co_return result<void>();
        if (outcomes_.size() == batch_entries_max) co_return errc::too_large;
        auto begun = co_await begin(**frame);
        if (!begun) co_return begun;
    }
}

// Has one entry stored, or settles why not; what is not read of it, the reader passes over.
awaitable<result<void>> batch_writer::begin(blob_frame frame) {
    const std::size_t index = outcomes_.size();
    outcomes_.push_back({frame.id, 0, false, {}});
    if (frame.absent() || frame.size_bytes() > blob_bytes_max_) {
        refuse(index, frame.absent() ? errc::absent : errc::too_large);
        co_return result<void>();
    }
    const bool small = frame.size_bytes() <= small_bytes_max;
    auto held = small ? ahead_.try_acquire(frame.size_bytes()) : std::nullopt;
    if (!held) co_return co_await put_large(index);
    auto bytes = co_await body_.whole();
    if (!bytes) co_return bytes.error();
    auto slot = co_await slots_.acquire();
    puts_.spawn(put_small(index, std::move(*bytes), std::move(*held), std::move(slot)));
    co_return result<void>();
}

awaitable<void> batch_writer::put_small(std::size_t index,
                                        buffer bytes,
                                        semaphore::permit held,
                                        semaphore::permit slot) {
    buffer_source body(std::move(bytes));
    const std::optional<blob_id> claim = outcomes_[index].id;
    const auto stored = co_await to_.put(body, claim);
    settle(index, stored);
    held.release();
    slot.release();
}

// An error only when it is the body's own.
awaitable<result<void>> batch_writer::put_large(std::size_t index) {
    const std::optional<blob_id> claim = outcomes_[index].id;
    const auto stored = co_await to_.put(body_, claim);
    if (body_.failure()) co_return body_.failure();
    settle(index, stored);
    co_return result<void>();
}

void batch_writer::settle(std::size_t index, const result<receipt>& stored) {
    if (!stored) return refuse(index, stored.error());
    outcomes_[index].created = stored->created;
    outcomes_[index].status = stored->created ? 201 : 200;
}

void batch_writer::refuse(std::size_t index, const error_code& why) {
    const problem_kind kind = problem_of(why);
    outcomes_[index].status = kind.status;
    outcomes_[index].type = kind.type;
}

}  // namespace cairn
