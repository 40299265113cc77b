// The threads that coroutines run on: a few loop threads with one io_context each, one more for the
// queues of engines, and a pool for calls that block.
//
// A coroutine lives on one loop thread, so what belongs to one thread needs no lock. Work is spread
// by giving each connection a thread from next().
#pragma once

#include "runtime/awaitable.hpp"
#include "runtime/blocking_pool.hpp"
#include "runtime/metrics.hpp"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cairn {

// One thread that runs one io_context until it is stopped: a loop thread, or the dedicated thread
// of an engine whose calls block (then that engine alone runs on it).
class loop_thread {
public:
    explicit loop_thread(std::string name);
    // Stops the context and joins. Whatever ran on it has been closed before.
    ~loop_thread();

    asio::io_context& context() noexcept { return context_; }
    executor get_executor() { return context_.get_executor(); }
    bool running_here() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }

private:
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::thread thread_;
};

struct runtime_options {
    std::size_t threads = std::thread::hardware_concurrency();
    std::size_t blocking_threads = 4;
};

class runtime {
public:
    explicit runtime(runtime_options options = {});
    // Stops and joins the threads. Close everything that runs on them first.
    ~runtime();

    std::size_t size() const noexcept { return loops_.size(); }
    loop_thread& at(std::size_t index) noexcept { return *loops_[index]; }
    // The loop threads in turn; any thread.
    loop_thread& next() noexcept;
    // Not among them: no caller runs here, so what engines do for all callers does not wait behind
    // what callers do between two of their waits, such as hashing.
    loop_thread& engine() noexcept { return engine_; }

    blocking_pool& pool() noexcept { return pool_; }
    cairn::metrics& metrics() noexcept { return metrics_; }

    // Runs a coroutine on the next loop thread to its end and gives its value, or throws what it
    // threw. Blocks: for main(), tests and destructors of programs, never on a loop thread.
    void run(awaitable<void> work);
    template <class T>
    T run(awaitable<T> work) {
        std::optional<T> value;
        run(keep(std::move(work), value));
        return std::move(*value);
    }

private:
    cairn::metrics metrics_;
    blocking_pool pool_;
    loop_thread engine_{"cairn-engine"};
    std::vector<std::unique_ptr<loop_thread>> loops_;
    std::atomic<std::size_t> turn_{0};
};

}  // namespace cairn
