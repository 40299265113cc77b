// cairn get: writes a blob, or a part of it.
#include "http/cairn/location.hpp"
#include "http/cairn/output_file.hpp"
#include "http/cairn/progress.hpp"
#include "http/cairn/verbs.hpp"

#include <cstdio>
#include <utility>

namespace cairn::program {
namespace {

awaitable<result<void>> copy(runtime& threads, source& from, output_file& to, progress& shown) {
    for (;;) {
        auto window = co_await from.next();
        if (!window) co_return window.error();
        if (window->empty()) break;
        auto write = [&to, &window] { return to.write(window->view()); };
        auto written = co_await threads.pool().run(std::move(write));
        if (!written) co_return written.error();
        shown.add(window->size());
    }
    co_return to.commit();
}

awaitable<int> get_blob(runtime& threads, store& from, const get_options& options) {
    byte_range range;
    if (options.range) {
        range.offset = options.range->offset;
        range.size_bytes = options.range->size_bytes.value_or(byte_range::to_end);
    }
    const auto found = co_await from.get(options.id, range);
    if (!found) {
        complain(options.id.hex(), found.error());
        co_return status_of(found.error());
    }
    if (*found == nullptr) {
        complain(options.id.hex(), errc::absent);
        co_return exit_refused;
    }
    output_file to(options.output);
    progress shown(options.id.hex().substr(0, 12), (*found)->size(), !to.is_standard_output());
    const auto done = co_await copy(threads, **found, to, shown);
    if (done) co_return exit_done;
    complain(options.id.hex(), done.error());
    co_return exit_trouble;
}

}  // namespace

int get(runtime& threads, const get_options& options) {
    const auto work = [&](store& from) { return get_blob(threads, from, options); };
    return with_store(threads, options.at, work);
}

}  // namespace cairn::program
