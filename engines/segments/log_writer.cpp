#include "engines/segments/log_writer.hpp"

#include "runtime/side_by_side.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace cairn {
namespace {

using entry = group_commit<log_write, std::monostate>::entry;

// Bytes that lie one behind the other, for one write.
struct run {
    std::shared_ptr<file> in;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::vector<buffer> bytes;
};

std::size_t bytes_of(const log_write& what) {
    std::size_t bytes = 0;
    for (const buffer& each : what.bytes) bytes += each.size();
    return bytes;
}

std::vector<run> runs_of(std::span<const entry> batch) {
    std::vector<const log_write*> order;
    for (const entry& each : batch) order.push_back(&each.request);
    std::sort(order.begin(), order.end(), [](const log_write* one, const log_write* other) {
        return std::tie(one->in, one->offset) < std::tie(other->in, other->offset);
    });
    std::vector<run> runs;
    for (const log_write* each : order) {
        const bool goes_on =
            !runs.empty() && runs.back().in == each->in && runs.back().end == each->offset;
        if (!goes_on) runs.push_back({each->in, each->offset, each->offset, {}});
        run& last = runs.back();
        last.end += bytes_of(*each);
        last.bytes.insert(last.bytes.end(), each->bytes.begin(), each->bytes.end());
    }
    return runs;
}

awaitable<result<void>> write_all(std::vector<run> runs) {
    result<void> all;
    const std::function<awaitable<void>(std::size_t)> write_one =
        [&](std::size_t i) -> awaitable<void> {
        run& one = runs[i];
        auto written = co_await one.in->write_at(one.begin, std::move(one.bytes));
        if (!written) all = written.error();
    };
    if (runs.size() == 1)
        co_await write_one(0);
    else
        co_await side_by_side(runs.size(), runs.size(), write_one);
    co_return all;
}

byte_range covering(byte_range one, byte_range other) noexcept {
    const std::uint64_t begin = std::min(one.offset, other.offset);
    const std::uint64_t end =
        std::max(one.offset + one.size_bytes, other.offset + other.size_bytes);
    return {begin, end - begin};
}

std::map<std::shared_ptr<file>, byte_range> records_of(std::span<const entry> batch) {
    std::map<std::shared_ptr<file>, byte_range> files;
    for (const entry& each : batch) {
        const auto [all, is_first] = files.try_emplace(each.request.in, each.request.record);
        if (!is_first) all->second = covering(all->second, each.request.record);
    }
    return files;
}

}  // namespace

log_writer::log_writer(executor home, fail_stop& stop)
    : stop_(stop),
      queue_(
          "segments data",
          std::move(home),
          stop,
          [this](std::span<queue::entry> batch) { return step(batch); },
          group_commit_limits{},
          bytes_of) {}

awaitable<result<void>> log_writer::write(log_write what) {
    auto done = co_await queue_.submit(std::move(what));
    if (!done) co_return done.error();
    co_return result<void>();
}

// Nothing is synced unless all of it could be written: in the end what cannot be written is alone.
awaitable<outcome> log_writer::step(std::span<queue::entry> batch) {
    auto written = co_await write_all(runs_of(batch));
    if (!written) {
        for (auto& each : batch) each.reply = written.error();
        co_return outcome::untouched;
    }
    const auto files = records_of(batch);
    for (const auto& [in, records] : files) {
        auto synced = co_await in->sync(records);
        if (synced) continue;
        stop_.trip(synced.error(), "sync of the open segment");
        co_return outcome::unknown;
    }
    for (auto& each : batch) each.reply = std::monostate();
    co_return outcome::committed;
}

}  // namespace cairn
