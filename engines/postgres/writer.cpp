#include "engines/postgres/writer.hpp"

#include "engines/checksums.hpp"
#include "engines/postgres/look_ups.hpp"
#include "engines/postgres/sql_error.hpp"

#include <utility>

namespace cairn::postgres {
namespace {

constexpr group_commit_limits batch_limits{
    .queue_entries = 4096, .batch_entries = 512, .batch_bytes = 2 << 20};

std::size_t bytes_of(const change& what) {
    constexpr std::size_t row_bytes = 256;
    const auto* put = std::get_if<put_blob>(&what);
    return row_bytes + (put != nullptr ? put->value.size() : 0);
}

// The code that a caller can do something with.
error_code answer_for(const error_code& why) {
    if (is_upload_lost(why)) return errc::vanished;
    if (why == failure::retryable && why != errc::closed) return errc::unavailable;
    return why;
}

const quarantine_blob* inline_suspect(const change& what) {
    const auto* suspect = std::get_if<quarantine_blob>(&what);
    return suspect != nullptr && !suspect->failed_at ? suspect : nullptr;
}

}  // namespace

writer::writer(database& in, fail_stop& stop)
    : in_(in),
      over_(in.commits()),
      changes_(
          "postgres writer",
          in.commits_home(),
          stop,
          [this](std::span<queue::entry> batch) { return step(batch); },
          batch_limits,
          bytes_of),
      confirms_("postgres confirmation",
                in.commits_home(),
                stop,
                [this](std::span<confirm_queue::entry> batch) { return confirm_step(batch); }) {}

awaitable<void> writer::close() {
    co_await confirms_.close();
    co_await changes_.close();
}

// A batch, or a part of one that fell apart (runtime/group_commit.hpp halves it until it succeeds).
awaitable<outcome> writer::step(std::span<queue::entry> batch) {
    if (undecided_entries_ == 0) {
        ++batch_number_;
        batch_entries_ = undecided_entries_ = batch.size();
    }
    const commit_batch::origin from{over_.boot(), over_.number(), batch_number_,
                                    batch_entries_ - undecided_entries_};
    const outcome ended = co_await run_part(from, batch);
    const bool falls_apart = ended == outcome::untouched && batch.size() > 1;
    if (!falls_apart) undecided_entries_ -= batch.size();
    co_return ended;
}

awaitable<outcome> writer::run_part(const commit_batch::origin& from,
                                    std::span<queue::entry> batch) {
    auto bad = co_await bad_values(batch);
    if (!bad) {
        for (auto& each : batch) each.reply = answer_for(bad.error());
        co_return is_of_the_data(bad.error()) ? outcome::untouched : outcome::committed;
    }
    commit_batch work(from, batch, *bad);
    auto done = co_await run(work);
    if (!done) {
        for (auto& each : batch) each.reply = answer_for(done.error());
        co_return is_of_the_data(done.error()) ? outcome::untouched : outcome::committed;
    }
    for (auto& each : batch) {
        if (each.reply) each.reply->freed = work.freed();
    }
    co_return outcome::committed;
}

// An error means that the first transaction failed, and nothing happened or nobody knows.
awaitable<result<void>> writer::run(commit_batch& batch) {
    const lane::writing first = [&batch](segment& to) { batch.add_to(to); };
    auto done = co_await over_.transact(first);
    if (!done) co_return done.error();
    batch.read(*done);
    if (!batch.has_undecided()) co_return result<void>();
    const lane::writing second = [&batch](segment& to) { batch.add_undecided_to(to); };
    auto decided = co_await over_.transact(second);
    if (decided) {
        batch.read_undecided(*decided);
    } else {
        batch.fail_undecided(answer_for(decided.error()));
    }
    co_return result<void>();
}

// The server cannot check a value, so it is read and checked here, and quarantined there only if
// it is still the same. A good value stays empty, which matches no row.
awaitable<result<std::vector<std::optional<buffer>>>> writer::bad_values(
    std::span<const queue::entry> batch) {
    std::vector<std::optional<buffer>> values(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const quarantine_blob* suspect = inline_suspect(batch[i].request);
        if (suspect == nullptr) continue;
        auto found = co_await find_one(in_, suspect->id);
        if (!found) co_return found.error();
        if (!*found || (*found)->where) continue;
        const row& standing = **found;
        const bool good =
            checksums::of(standing.value.view()).digest() == standing.checksums_digest;
        if (!good) values[i] = standing.value;
    }
    co_return values;
}

awaitable<outcome> writer::confirm_step(std::span<confirm_queue::entry> batch) {
    const lane::writing nothing = [](segment&) {};
    auto done = co_await over_.transact(nothing);
    for (auto& each : batch) {
        each.reply = std::monostate();
        if (!done) each.reply = answer_for(done.error());
    }
    co_return outcome::committed;
}

}  // namespace cairn::postgres
