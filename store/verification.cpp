#include "store/verification.hpp"

#include "runtime/hash.hpp"
#include "runtime/side_by_side.hpp"

#include <functional>
#include <optional>

namespace cairn {
namespace {

// The blob's own: the next one may well be good.
bool is_bad_blob(const error_code& ec) noexcept {
    return ec == errc::corrupt || ec == errc::quarantined || ec == errc::short_body;
}

bool is_gone(const error_code& ec) noexcept { return ec == errc::absent || ec == errc::vanished; }

class verifier {
public:
    verifier(store& of, verify_watcher& watcher, verify_limits limits)
        : of_(of), watcher_(watcher), limits_(limits) {}

    awaitable<result<verify_report>> run();

private:
    awaitable<void> check(listed_blob blob);
    awaitable<result<blob_id>> hash(blob_id id);

    store& of_;
    verify_watcher& watcher_;
    const verify_limits limits_;
    verify_report report_;
    error_code broken_;  // why nothing more is begun
};

awaitable<result<verify_report>> verifier::run() {
    std::optional<blob_id> after;
    while (true) {
        const auto page = co_await of_.list(after, limits_.page_blobs);
        if (!page) co_return page.error();
        const std::function<awaitable<void>(std::size_t)> check_one = [&](std::size_t index) {
            return check((*page)[index]);
        };
        co_await side_by_side(page->size(), limits_.in_flight, check_one);
        if (broken_) co_return broken_;
        if (page->size() < limits_.page_blobs) co_return report_;
        after = page->back().id;
    }
}

awaitable<void> verifier::check(listed_blob blob) {
    if (broken_) co_return;
    const auto hashed = co_await hash(blob.id);
    error_code why;
    if (!hashed) why = hashed.error();
    if (hashed && *hashed != blob.id) why = errc::corrupt;
    if (!why) {
        report_.good.add(blob);
        watcher_.good(blob);
    } else if (is_bad_blob(why)) {
        report_.bad.add(blob);
        watcher_.bad(blob, why);
    } else if (!is_gone(why)) {
        broken_ = why;
    }
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
    verifier work(of, watcher, limits);
    co_return co_await work.run();
}

}  // namespace cairn
