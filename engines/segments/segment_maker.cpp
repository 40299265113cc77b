#include "engines/segments/segment_maker.hpp"

#include "engines/segments/segment_name.hpp"
#include "runtime/log.hpp"
#include "runtime/run_on.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <new>
#include <utility>

namespace cairn {
namespace {

// As much as lives in a half-dead segment; on a small disk, where segments are small, less.
std::uint64_t compaction_room(const disk_space& there) noexcept {
    constexpr std::uint64_t most_bytes = 128 << 20;
    return std::min(most_bytes, there.total_bytes / 16);
}

class space_promise {
public:
    space_promise(std::atomic<std::uint64_t>& all, std::uint64_t bytes)
        : all_(all), bytes_(bytes), others_(all_.fetch_add(bytes)) {}
    space_promise(const space_promise&) = delete;
    space_promise& operator=(const space_promise&) = delete;
    ~space_promise() { kept(); }

    void kept() noexcept { all_ -= std::exchange(bytes_, 0); }

    std::uint64_t others() const noexcept { return others_; }

private:
    std::atomic<std::uint64_t>& all_;
    std::uint64_t bytes_;
    const std::uint64_t others_;
};

// The job owns what it runs: a lambda's captures must outlive its coroutine.
awaitable<void> run_owned(std::function<awaitable<void>()> job, std::atomic<std::size_t>& pending) {
    try {
        co_await job();
    } catch (const std::bad_alloc&) {
        // Its segment stays unsealed, and the next boot's recovery ends it.
    }
    --pending;
}

}  // namespace

segment_maker::segment_maker(executor home,
                             file_system& files,
                             std::filesystem::path folder,
                             catalog& ledger,
                             fail_stop& stop)
    : home_(home),
      files_(files),
      folder_(std::move(folder)),
      ledger_(ledger),
      stop_(stop),
      folder_syncs_("segments folder",
                    home,
                    stop,
                    [this](std::span<folder_queue::entry> batch) { return sync_step(batch); }),
      jobs_(home) {}

std::uint64_t segment_maker::next_number() noexcept { return boot() << 32 | ++last_; }

awaitable<result<std::shared_ptr<file>>> segment_maker::make(open_segment opened,
                                                             std::uint64_t size_bytes,
                                                             intake_for what) {
    // Promised before the disk is asked: whoever asks meanwhile counts it.
    space_promise promised(promised_bytes_, size_bytes);
    auto spare = co_await spare_space(what, promised.others());
    if (!spare) co_return spare.error();
    if (*spare < std::max<std::uint64_t>(size_bytes, 1)) co_return error_code(errc::no_space);
    auto committed = co_await commit(opened);
    if (!committed) co_return committed.error();
    auto in = co_await files_.open(path_of(opened.segment), open_mode::create);
    if (!in) co_return in.error();
    if (size_bytes > 0) {
        auto taken = co_await (*in)->preallocate(size_bytes);
        if (!taken) co_return taken.error();
    }
    promised.kept();
    auto synced = co_await sync_folder();
    if (!synced) co_return synced.error();
    co_return in;
}

void segment_maker::seal(std::uint64_t segment, std::shared_ptr<file> in) {
    run([this, segment, in = std::move(in)] { return seal_now(segment, in); });
}

void segment_maker::run(std::function<awaitable<void>()> job) noexcept {
    ++pending_;
    asio::post(home_, [this, job = std::move(job)]() mutable {
        jobs_.spawn(run_owned(std::move(job), pending_));
    });
}

std::filesystem::path segment_maker::path_of(std::uint64_t segment) const {
    return folder_ / segment_name(segment);
}

awaitable<result<std::shared_ptr<file>>> segment_maker::open(std::uint64_t segment,
                                                             open_mode mode) {
    return files_.open(path_of(segment), mode);
}

awaitable<result<void>> segment_maker::sync(std::uint64_t segment, std::shared_ptr<file> in) {
    auto synced = co_await in->sync();
    if (!synced) stop_.trip(synced.error(), "sync of segment " + segment_name(segment));
    co_return synced;
}

awaitable<result<void>> segment_maker::sync_folder() {
    auto synced = co_await folder_syncs_.submit(std::monostate());
    if (!synced) co_return synced.error();
    co_return result<void>();
}

awaitable<result<std::uint64_t>> segment_maker::spare_space(intake_for what,
                                                            std::uint64_t besides) {
    const auto there = co_await files_.space(folder_);
    if (!there) co_return there.error();
    const std::uint64_t room = what == intake_for::put ? compaction_room(*there) : 0;
    co_return there->free_bytes - std::min(there->free_bytes, room + besides);
}

awaitable<void> segment_maker::close() {
    co_await run_on(home_, drain());
    co_await folder_syncs_.close();
}

// A job counts from when it is asked for until it has ended, and asks for what follows it before
// that.
awaitable<void> segment_maker::drain() {
    while (pending_ > 0 || jobs_.size() > 0) {
        co_await asio::post(home_, asio::use_awaitable);
        co_await jobs_.join();
    }
}

awaitable<outcome> segment_maker::sync_step(std::span<folder_queue::entry> batch) {
    auto synced = co_await files_.sync_directory(folder_);
    if (!synced) {
        stop_.trip(synced.error(), "sync of the segments folder");
        co_return outcome::unknown;
    }
    for (auto& each : batch) each.reply = std::monostate();
    co_return outcome::committed;
}

awaitable<void> segment_maker::seal_now(std::uint64_t segment, std::shared_ptr<file> in) {
    auto sealed = co_await end(segment, std::move(in));
    if (sealed || stop_.tripped()) co_return;
    log_warn("segments", "{} is left for the next start to seal: {}", segment_name(segment),
             sealed.error().message());
}

// Nothing in it is undecided. A COMMIT that failed and may be durable all the same has stopped the
// catalog, which then does not tell an end that is too early.
awaitable<result<void>> segment_maker::end(std::uint64_t segment, std::shared_ptr<file> in) {
    const seal_segment sealed{segment};
    if (!in) co_return co_await commit(sealed);
    auto rows = co_await ledger_.segments(segment - 1, 1, true);
    if (!rows) co_return rows.error();
    const bool is_open = !rows->empty() && rows->front().segment == segment;
    if (!is_open) co_return co_await commit(sealed);
    co_return co_await cut_and_seal(std::move(in), rows->front().end_bytes, sealed);
}

awaitable<result<void>> segment_maker::cut_and_seal(std::shared_ptr<file> in,
                                                    std::uint64_t end_bytes,
                                                    seal_segment sealed) {
    auto cut = co_await in->truncate(end_bytes);
    if (!cut) co_return cut.error();
    auto synced = co_await sync(sealed.segment, std::move(in));
    if (!synced) co_return synced.error();
    co_return co_await commit(std::move(sealed));
}

awaitable<result<void>> segment_maker::commit(change what) {
    auto committed = co_await ledger_.commit(std::move(what));
    if (!committed) co_return committed.error();
    co_return result<void>();
}

}  // namespace cairn
