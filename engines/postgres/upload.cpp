#include "engines/postgres/upload.hpp"

#include "engines/checksums.hpp"
#include "engines/postgres/stored_row.hpp"

#include <algorithm>
#include <utility>

namespace cairn::postgres {
namespace {

constexpr statement begin_upload{
    "begin_upload",
    "INSERT INTO cairn.reclaim(container, start, length, owner, not_before)"
    " SELECT $1::bigint, 0, 0, $2::bigint, cairn.now_us() + $3::bigint"
    " WHERE NOT EXISTS (SELECT FROM cairn.chunks WHERE container = $1::bigint)"
    " ON CONFLICT DO NOTHING"};
constexpr statement own_upload{"own_upload", "SELECT cairn.own_upload($1::bigint, $2::bigint)"};
constexpr statement write_chunk{
    "write_chunk",
    "SELECT cairn.write_chunk($1::bigint, $2::bigint, $3::bytea, $4::bytea, $5, $6::bytea)"};

constexpr std::size_t parcels_on_way_max = 2;
constexpr std::size_t parcel_chunks_max = 4;

}  // namespace

upload::upload(database& in, semaphore& budget, std::uint64_t container, chunk_place place)
    : over_(in.bytes(container)),
      budget_(budget),
      container_(signed_of(container)),
      place_(place) {}

awaitable<result<void>> upload::add(byte_view window) {
    while (!window.empty()) {
        // A full chunk is ended by the first byte after it: the last one has the trailer.
        if (filling_.size() == chunk_bytes) {
            auto ended = co_await end_chunk();
            if (!ended) co_return ended.error();
        }
        const std::size_t count = std::min(window.size(), chunk_bytes - filling_.size());
        filling_.insert(filling_.end(), window.begin(), window.begin() + std::ptrdiff_t(count));
        window = window.subspan(count);
    }
    co_return result<void>();
}

awaitable<result<void>> upload::finish(const trailer& end) {
    end_ = &end;
    auto ended = co_await end_chunk();
    if (!ended) co_return ended.error();
    co_return co_await settle_all();
}

awaitable<result<void>> upload::settle_all() {
    while (!full_.empty() || !on_way_.empty()) {
        auto sent = co_await send();
        if (!sent) co_return sent.error();
        auto settled = co_await settle_oldest();
        if (!settled) co_return settled.error();
    }
    co_return result<void>();
}

awaitable<result<void>> upload::end_chunk() {
    chunk done;
    done.part = next_part_++;
    if (auto free = budget_.try_acquire(chunk_bytes)) {
        done.held = std::move(*free);
    } else {
        // Who waits holds nothing that others wait for.
        auto settled = co_await settle_all();
        if (!settled) co_return settled.error();
        done.held = co_await budget_.acquire(chunk_bytes);
    }
    done.bytes = buffer::copy_of(filling_);
    filling_.clear();
    full_.push_back(std::move(done));
    co_return co_await send();
}

// Sends what is full, unless enough is on its way; waits only when a parcel's worth has gathered.
awaitable<result<void>> upload::send() {
    const bool must_wait = full_.size() >= parcel_chunks_max;
    if (on_way_.size() >= parcels_on_way_max && must_wait) {
        auto settled = co_await settle_oldest();
        if (!settled) co_return settled.error();
    }
    if (full_.empty() || on_way_.size() >= parcels_on_way_max) co_return result<void>();
    parcel next;
    next.chunks = std::exchange(full_, {});
    const lane::writing fill = [&](segment& to) { write(to, next.chunks); };
    next.sent = over_.start(fill);
    on_way_.push_back(std::move(next));
    co_return result<void>();
}

// Waits for the oldest transaction, and runs it again when its answer was lost. Also when it found
// no upload: the one before it, which begins the upload, may have been lost and run again since.
awaitable<result<void>> upload::settle_oldest() {
    if (on_way_.empty()) co_return result<void>();
    parcel oldest = std::move(on_way_.front());
    on_way_.pop_front();
    auto done = co_await oldest.sent.answer();
    if (!done && (lane::may_run_again(done.error()) || is_upload_lost(done.error()))) {
        const lane::writing again = [&](segment& to) { write(to, oldest.chunks); };
        done = co_await over_.transact(again);
    }
    if (done) co_return result<void>();
    if (is_upload_lost(done.error())) co_return error_code(errc::vanished);
    co_return done.error();
}

// Writing a chunk again, or beginning again, changes nothing. A container that has bytes and is no
// upload is another's, and not begun.
void upload::write(segment& to, const std::vector<chunk>& chunks) const {
    const std::int64_t boot = signed_of(over_.boot());
    if (chunks.front().part == 0) {
        constexpr std::int64_t patience_us = std::chrono::microseconds(upload_patience).count();
        parameters begin;
        begin.add(container_).add(boot).add(patience_us);
        to.add(begin_upload, std::move(begin));
    }
    parameters own;
    own.add(container_).add(boot);
    to.add(own_upload, std::move(own));
    for (const chunk& each : chunks) {
        const checksums sums = checksums::of(each.bytes.view());
        parameters with;
        with.add(container_).add(each.part).add(sums.encoded());
        const bool is_last = end_ != nullptr && each.part + 1 == next_part_;
        if (is_last) {
            const auto encoded = end_->encode();
            with.add(byte_view(encoded));
        } else {
            with.add_null();
        }
        with.add(place_ == chunk_place::large_object).add(each.bytes);
        to.add(write_chunk, std::move(with));
    }
}

}  // namespace cairn::postgres
