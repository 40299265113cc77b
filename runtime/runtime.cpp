#include "runtime/runtime.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <pthread.h>

namespace cairn {

loop_thread::loop_thread(std::string name) : work_(context_.get_executor()) {
    name.resize(std::min<std::size_t>(name.size(), 15));  // Linux thread names
    thread_ = std::thread([this, name = std::move(name)] {
        pthread_setname_np(pthread_self(), name.c_str());
        context_.run();
    });
}

loop_thread::~loop_thread() {
    work_.reset();
    context_.stop();
    thread_.join();
}

runtime::runtime(runtime_options options) : pool_(options.blocking_threads) {
    const std::size_t count = std::max<std::size_t>(options.threads, 1);
    for (std::size_t i = 0; i < count; ++i) {
        loops_.push_back(std::make_unique<loop_thread>("cairn-loop-" + std::to_string(i)));
    }
}

runtime::~runtime() = default;

loop_thread& runtime::next() noexcept {
    return *loops_[turn_.fetch_add(1, std::memory_order_relaxed) % loops_.size()];
}

void runtime::run(awaitable<void> work) {
    asio::co_spawn(next().get_executor(), std::move(work), asio::use_future).get();
}

}  // namespace cairn
