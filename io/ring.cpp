#include "io/ring.hpp"

#include "runtime/check.hpp"
#include "runtime/log.hpp"

#include <array>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <liburing.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace cairn {
namespace {

thread_local ring* ring_here = nullptr;

// Submissions that the kernel refuses for want of memory are tried again this often, then it is the
// end of the process: operations that hold buffers can be neither begun nor given up.
constexpr unsigned submit_failures_max = 10'000;
constexpr auto submit_pause = std::chrono::milliseconds(1);

[[noreturn]] void give_up(std::string_view call, int error_number) {
    log_error("io", "{}: {}; completions may be lost, ending", call, std::strerror(error_number));
    std::abort();
}

int set_up(io_uring& ring, ring_options options, unsigned flags) {
    io_uring_params parameters{};
    parameters.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | flags;
    parameters.cq_entries = options.in_flight;
    return io_uring_queue_init_params(options.submissions, &ring, &parameters);
}

// 0, or an errno.
int set_up(io_uring& ring, ring_options options) {
    // Completions need not interrupt this thread: the loop enters the kernel soon enough
    // (Linux 5.19).
    int answer = set_up(ring, options, IORING_SETUP_COOP_TASKRUN);
    if (answer == -EINVAL) answer = set_up(ring, options, 0);
    if (answer < 0) return -answer;
    // Without it the kernel drops completions that find the CQ full.
    if ((ring.features & IORING_FEAT_NODROP) != 0) return 0;
    io_uring_queue_exit(&ring);
    return ENOSYS;
}

// 0, or why the kernel does not offer every call that the ring makes.
int find_missing_call(io_uring& ring) {
    static constexpr unsigned count = 256;
    alignas(io_uring_probe)
        std::array<std::byte, sizeof(io_uring_probe) + count * sizeof(io_uring_probe_op)>
            space{};
    auto* const probe = reinterpret_cast<io_uring_probe*>(space.data());
    if (const int answer = io_uring_register_probe(&ring, probe, count); answer < 0) return -answer;
    for (const int code : {IORING_OP_READ, IORING_OP_WRITE, IORING_OP_WRITEV, IORING_OP_FSYNC}) {
        if (io_uring_opcode_supported(probe, code) == 0) return ENOSYS;
    }
    return 0;
}

void describe_write(operation& work, io_uring_sqe& call) {
    const auto pieces = work.vector();
    if (pieces.size() == 1) {
        io_uring_prep_write(&call, work.descriptor(), work.data(), work.size(), work.offset());
    } else {
        io_uring_prep_writev(&call, work.descriptor(), pieces.data(),
                             static_cast<unsigned>(pieces.size()), work.offset());
    }
}

// All of the file where the range is longer than a call can say.
void describe_sync(byte_range written, int descriptor, io_uring_sqe& call) {
    io_uring_prep_fsync(&call, descriptor, IORING_FSYNC_DATASYNC);
    if (written.size_bytes > UINT32_MAX) return;
    call.off = written.offset;
    call.len = static_cast<std::uint32_t>(written.size_bytes);
}

void describe_next_call(operation& work, io_uring_sqe& call) {
    switch (work.what()) {
        case operation::kind::read:
            io_uring_prep_read(&call, work.descriptor(), work.data(), work.size(), work.offset());
            break;
        case operation::kind::write: describe_write(work, call); break;
        case operation::kind::sync: describe_sync(work.range(), work.descriptor(), call); break;
    }
}

// One operation, waited for on this thread; 0, or the errno of its first call that failed.
int run_blocking(io_uring& ring, operation work) {
    while (!work.finished()) {
        io_uring_sqe* const call = io_uring_get_sqe(&ring);
        CAIRN_CHECK(call != nullptr);
        describe_next_call(work, *call);
        io_uring_cqe* done = nullptr;
        int answer = io_uring_submit_and_wait(&ring, 1);
        if (answer >= 0) answer = io_uring_wait_cqe(&ring, &done);
        if (answer < 0) return -answer;
        work.advance(done->res);
        io_uring_cqe_seen(&ring, done);
    }
    return work.status() ? 0 : work.status().error().value();
}

// A real write and sync: some sandboxes admit the set-up and refuse the rest.
int try_write_and_sync(io_uring& ring) {
    const int file = ::memfd_create("cairn-probe", MFD_CLOEXEC);
    if (file < 0) return errno;
    const buffer one = buffer::copy_of(as_bytes("x"));
    int failed = run_blocking(ring, operation::write(nullptr, file, 0, {one, one}));
    if (failed == 0) failed = run_blocking(ring, operation::sync(nullptr, file, {0, 1}));
    ::close(file);
    return failed;
}

std::string explain(std::string_view call, int error_number) {
    std::string text = fmt::format("{}: {}", call, std::strerror(error_number));
    int disabled = 0;
    std::ifstream("/proc/sys/kernel/io_uring_disabled") >> disabled;
    if (disabled != 0)
        text += fmt::format(" (sysctl kernel.io_uring_disabled is {})", disabled);
    else if (error_number == EPERM)
        text += " (a container's seccomp profile? see its io_uring_* rules)";
    else if (error_number == ENOMEM)
        text += " (locked memory limit? see ulimit -l)";
    else if (error_number == ENOSYS)
        text += " (Linux 5.15 or newer is needed)";
    return text;
}

}  // namespace

asio::execution_context::id ring::id;

std::string ring::refusal() {
    io_uring probed;
    ring_options small;
    small.submissions = 4;
    small.in_flight = 8;
    if (const int failed = set_up(probed, small)) return explain("io_uring_setup", failed);
    std::string reason;
    if (const int missing = find_missing_call(probed))
        reason = explain("io_uring_register", missing);
    else if (const int failed = try_write_and_sync(probed))
        reason = explain("io_uring_enter", failed);
    io_uring_queue_exit(&probed);
    return reason;
}

ring& ring::of(asio::io_context& context, ring_options options) {
    if (asio::has_service<ring>(context)) return asio::use_service<ring>(context);
    ring& made = asio::make_service<ring>(context, options);
    asio::post(context, [&made] { ring_here = &made; });
    return made;
}

ring* ring::of_this_thread() noexcept { return ring_here; }

ring::ring(asio::execution_context& context, ring_options options)
    : asio::execution_context::service(context),
      context_(static_cast<asio::io_context&>(context)),
      ring_(std::make_unique<io_uring>()),
      event_(context_),
      again_(context_) {
    const auto throw_if = [](int error_number, const char* call) {
        if (error_number != 0)
            throw boost::system::system_error(system_error_from(error_number), call);
    };
    throw_if(set_up(*ring_, options), "io_uring_setup");
    const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) {
        const int failed = errno;
        io_uring_queue_exit(ring_.get());
        throw_if(failed, "eventfd");
    }
    event_.assign(event);
    // The plain call: the `_async` one is silent about completions that happen while submitting.
    if (const int answer = io_uring_register_eventfd(ring_.get(), event); answer < 0) {
        io_uring_queue_exit(ring_.get());
        throw_if(-answer, "io_uring_register_eventfd");
    }
    slots_.resize(*ring_->cq.kring_entries);
    for (std::size_t i = slots_.size(); i > 0; --i) free_.push_back(i - 1);
}

ring::~ring() = default;

awaitable<operation> ring::run(operation work) {
    if (work.finished()) co_return work;
    handover home_coming;
    auto initiate = [this, &work, &home_coming](auto caller) {
        executor home = asio::get_associated_executor(caller);
        start({std::move(work), std::move(home), std::move(caller), &home_coming});
    };
    auto ended =
        co_await asio::async_initiate<const asio::use_awaitable_t<executor>, void(operation)>(
            initiate, asio::use_awaitable);
    home_coming.wait();
    co_return ended;
}

void ring::start(entry begun) {
    if (ring_here == this) return enqueue(std::move(begun));
    asio::post(context_, [this, begun = std::move(begun)]() mutable { enqueue(std::move(begun)); });
}

void ring::enqueue(entry begun) {
    waiting_.push_back(std::move(begun));
    schedule_turn();
}

// Posted, so that it runs after everything that this turn of the loop still has to do.
void ring::schedule_turn() {
    if (std::exchange(turn_posted_, true)) return;
    asio::post(context_, [this] {
        turn_posted_ = false;
        turn();
    });
}

void ring::turn() {
    prepare();
    submit();
    reap();
    if (!waiting_.empty() && !free_.empty()) schedule_turn();
    watch();
}

void ring::prepare() {
    while (!waiting_.empty() && !free_.empty()) {
        io_uring_sqe* const call = io_uring_get_sqe(ring_.get());
        if (call == nullptr) return;  // full; the rest goes with the next turn
        const std::size_t index = free_.back();
        free_.pop_back();
        auto& slot = slots_[index].emplace(std::move(waiting_.front()));
        waiting_.pop_front();
        describe_next_call(slot.work, *call);
        io_uring_sqe_set_data64(call, index);
    }
}

void ring::submit() {
    // One call may take fewer than were prepared.
    while (io_uring_sq_ready(ring_.get()) > 0) {
        const int answer = io_uring_submit(ring_.get());
        if (answer == -EINTR) continue;
        if (answer == -EAGAIN || answer == -EBUSY) {
            if (++submit_failures_ == submit_failures_max) give_up("io_uring_enter", -answer);
            again_.expires_after(submit_pause);
            again_.async_wait([this](error_code ec) {
                if (!ec) turn();
            });
            return;
        }
        if (answer < 0) give_up("io_uring_enter", -answer);  // EBADR: a completion was lost
        submit_failures_ = 0;
    }
}

void ring::reap() {
    std::array<io_uring_cqe*, 64> done;
    while (const unsigned count = io_uring_peek_batch_cqe(ring_.get(), done.data(), done.size())) {
        for (unsigned i = 0; i < count; ++i) {
            end_call(static_cast<std::size_t>(io_uring_cqe_get_data64(done[i])), done[i]->res);
        }
        io_uring_cq_advance(ring_.get(), count);
    }
}

void ring::end_call(std::size_t slot, int answer) {
    CAIRN_CHECK(slots_[slot].has_value());
    entry ended = std::move(*slots_[slot]);
    slots_[slot].reset();
    free_.push_back(slot);
    ended.work.advance(answer);
    if (!ended.work.finished()) return waiting_.push_back(std::move(ended));
    // Never resumed from in here: the caller's next operation would recurse into the ring.
    ended.home_coming->post(std::move(ended.home), [caller = std::move(ended.caller),
                                                    work = std::move(ended.work)]() mutable {
        std::move(caller)(std::move(work));
    });
}

// Only while something is in the kernel, so that an idle ring does not keep a context running. What
// the eventfd counted before is then a false alarm, and harmless.
void ring::watch() {
    if (watching_ || in_flight() == 0) return;
    watching_ = true;
    event_.async_read_some(asio::buffer(&event_count_, sizeof event_count_),
                           [this](error_code ec, std::size_t) {
                               watching_ = false;
                               if (ec == asio::error::operation_aborted) return;
                               CAIRN_CHECK(!ec);
                               // The event is drained before the CQ is, or a wake-up could be lost.
                               reap();
                               turn();
                           });
}

void ring::shutdown() {
    if (ring_here == this) ring_here = nullptr;
    // Frames first: they may hold further callers, and they may not run while the ring goes away.
    waiting_.clear();
    for (auto& each : slots_) {
        if (each) each->caller = nullptr;
    }
    drain();
    CAIRN_CHECK(in_flight() == 0);
    waiting_.clear();
    error_code ignored;
    event_.close(ignored);
    io_uring_queue_exit(ring_.get());
}

// Until the kernel holds no buffer any more.
void ring::drain() {
    // What has not begun need not begin, and a read of a pipe would never end. Best effort
    // (Linux 6.0).
    io_uring_sync_cancel_reg everything{};
    everything.fd = -1;
    everything.flags = IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY;
    everything.timeout = {-1, -1};
    if (in_flight() > 0) io_uring_register_sync_cancel(ring_.get(), &everything);
    while (in_flight() > 0) {
        io_uring_cqe* done = nullptr;
        int answer = io_uring_submit(ring_.get());
        if (answer >= 0) answer = io_uring_wait_cqe(ring_.get(), &done);
        if (answer == -EINTR || answer == -EAGAIN || answer == -EBUSY) continue;
        if (answer < 0) give_up("io_uring_enter", -answer);
        const auto slot = static_cast<std::size_t>(io_uring_cqe_get_data64(done));
        slots_[slot].reset();
        free_.push_back(slot);
        io_uring_cqe_seen(ring_.get(), done);
    }
}

}  // namespace cairn
