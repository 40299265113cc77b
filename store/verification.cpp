#include "store/verification.hpp"

#include "runtime/hash.hpp"
#include "runtime/semaphore.hpp"
#include "runtime/task_scope.hpp"

#include <boost/asio/this_coro.hpp>
#include <exception>
#include <utility>
#include <vector>

namespace cairn {
namespace {

// The blob's own: the next one may well be good.
bool is_bad_blob(const error_code& ec) noexcept {
    return ec == errc::corrupt || ec == errc::quarantined || ec == errc::short_body;
}

bool is_gone(const error_code& ec) noexcept { return ec == errc::absent || ec == errc::vanished; }

class verifier {
public:
    verifier(executor home, store& of, verify_watcher& watcher, verify_limits limits)
        : of_(of),
          watcher_(watcher),
          limits_(limits),
          slots_(limits.in_flight),
          readers_(std::move(home)) {}

    awaitable<result<verify_report>> run();

private:
    awaitable<void> hand_out();
    awaitable<void> gather();
    awaitable<void> check(listed_blob blob, semaphore::permit slot);
    awaitable<result<blob_id>> hash(blob_id id);

    store& of_;
    verify_watcher& watcher_;
    const verify_limits limits_;
    semaphore slots_;
    verify_report report_;
    error_code broken_;  // why nothing more is begun
    task_scope readers_;
};

awaitable<result<verify_report>> verifier::run() {
    std::exception_ptr thrown;
    try {
        co_await hand_out();
        co_await gather();
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown) {
        co_await asio::this_coro::reset_cancellation_state();
        readers_.request_stop();
    }
    co_await readers_.join();
    if (thrown) std::rethrow_exception(thrown);
    if (broken_) co_return broken_;
    co_return report_;
}

awaitable<void> verifier::hand_out() {
    std::optional<blob_id> after;
    while (!broken_) {
        const auto page = co_await of_.list(after, limits_.page_blobs);
        if (!page) {
            broken_ = page.error();
            co_return;
        }
        for (const listed_blob& blob : *page) {
            auto slot = co_await slots_.acquire();
            if (broken_) co_return;
            readers_.spawn(check(blob, std::move(slot)));
        }
        if (page->size() < limits_.page_blobs) co_return;
        after = page->back().id;
    }
}

// Waits for all that was begun.
awaitable<void> verifier::gather() {
    auto all = co_await slots_.acquire(limits_.in_flight);
    all.release();
}

awaitable<void> verifier::check(listed_blob blob, semaphore::permit slot) {
    const auto hashed = co_await hash(blob.id);
    const error_code why =
        hashed ? *hashed == blob.id ? error_code() : errc::corrupt : hashed.error();
    if (!why) {
        report_.good.add(blob);
        watcher_.good(blob);
    } else if (is_bad_blob(why)) {
        report_.bad.add(blob);
        watcher_.bad(blob, why);
    } else if (!is_gone(why) && !broken_) {
        broken_ = why;
    }
    slot.release();
}

awaitable<result<blob_id>> verifier::hash(blob_id id) {
    const byte_range whole;
    const auto opened = co_await of_.get(id, whole);
    if (!opened) co_return opened.error();
    if (*opened == nullptr) co_return error_code(errc::absent);
    sha256 so_far;
    while (true) {
        const auto window = co_await (*opened)->next();
        if (!window) co_return window.error();
        if (window->empty()) break;
        so_far.update(window->view());
        watcher_.read(window->size());
    }
    co_return blob_id{so_far.finish()};
}

}  // namespace

awaitable<result<verify_report>> verify(store& of, verify_watcher& watcher, verify_limits limits) {
    const executor home = co_await asio::this_coro::executor;
    verifier work(home, of, watcher, limits);
    co_return co_await work.run();
}

}  // namespace cairn
