// Catalog changes: whatever comes in whatever order, SQLite and the twin in memory do the same.
#include "engines/checksums.hpp"
#include "engines/memory/memory_catalog.hpp"
#include "engines/sqlite/schema.hpp"
#include "engines/sqlite/transaction.hpp"
#include "runtime/check.hpp"
#include "tests/support/run_coro.hpp"

#include <algorithm>
#include <fuzzer/FuzzedDataProvider.h>
#include <optional>
#include <set>
#include <vector>

namespace {

using namespace cairn;
using test::run_coro;

constexpr std::uint64_t boot = 1;

// SQLite without the disk: the statements and the transaction are the real ones.
class sqlite_rows {
public:
    sqlite_rows() {
        CAIRN_CHECK(sqlite::prepare_schema(file_).has_value());
        transaction_.emplace(sqlite::transaction::prepare(file_, boot).value());
        reader_.emplace(sqlite::row_reader::prepare(file_).value());
    }
    // One batch; all of it must succeed, or none.
    std::vector<result<applied>> commit(const std::vector<change>& batch) {
        std::vector<result<applied>> replies;
        CAIRN_CHECK(transaction_->begin().has_value());
        for (const change& each : batch) replies.push_back(transaction_->apply(each));
        const bool good = std::all_of(replies.begin(), replies.end(),
                                      [](const auto& reply) { return reply.has_value(); });
        if (good) {
            CAIRN_CHECK(transaction_->settle().has_value());
            CAIRN_CHECK(transaction_->commit().has_value());
        } else {
            CAIRN_CHECK(transaction_->rollback());
        }
        return replies;
    }
    sqlite::row_reader& read() { return *reader_; }

private:
    sqlite::database file_ = sqlite::database::open(":memory:", sqlite::role::writer).value();
    std::optional<sqlite::transaction> transaction_;
    std::optional<sqlite::row_reader> reader_;
};

blob_id id_of(std::uint8_t number) {
    const std::byte text[] = {std::byte{number}};
    return blob_id::of(text);
}

constexpr std::uint64_t segments = 4;  // containers up to this one; the next is none

locator locator_of(FuzzedDataProvider& input) {
    const std::uint64_t segment = input.ConsumeIntegralInRange<std::uint64_t>(1, segments + 1);
    const std::uint64_t offset = 4096 * input.ConsumeIntegralInRange<std::uint64_t>(0, 7);
    return {segment, offset, 4096};
}

// As engines make them: a locator is used once, a segment is opened once, and written to between
// that and its sealing.
class script {
public:
    explicit script(FuzzedDataProvider& input) : input_(input) {}

    std::optional<change> next() {
        const auto id = id_of(input_.ConsumeIntegralInRange<std::uint8_t>(0, 5));
        switch (input_.ConsumeIntegralInRange(0, 6)) {
            case 0: return put(id);
            case 1: return remove_blob{id};
            case 2: return quarantine(id);
            case 3: {
                const auto segment = input_.ConsumeIntegralInRange<std::uint64_t>(1, segments);
                if (!opened_.insert(segment).second) return std::nullopt;
                return open_segment{segment};
            }
            case 4: {
                const auto segment = input_.ConsumeIntegralInRange<std::uint64_t>(1, segments);
                sealed_.insert(segment);
                return seal_segment{segment};
            }
            case 5: return move(id);
            default: return forget();
        }
    }
    std::vector<locator> freed;  // may be forgotten

private:
    change put(const blob_id& id) {
        put_blob made;
        made.id = id;
        made.size_bytes = 1;
        made.value = buffer::copy_of(as_bytes("v"));
        made.checksums_digest = checksums::of(made.value.view()).digest();
        if (!input_.ConsumeBool()) return made;
        const locator at = locator_of(input_);
        if (!may_write(at)) return made;
        made.value = buffer();
        made.where = at;
        made.alone = seals(at);
        return made;
    }
    std::optional<change> move(const blob_id& id) {
        const locator from = locator_of(input_), to = locator_of(input_);
        if (!opened_.contains(to.container) || !may_write(to)) return std::nullopt;
        return move_blob{id, from, to, seals(to)};
    }
    change quarantine(const blob_id& id) {
        quarantine_blob made{id, std::nullopt, "bad"};
        if (input_.ConsumeBool()) made.failed_at = locator_of(input_);
        return made;
    }
    std::optional<change> forget() {
        if (freed.empty()) return std::nullopt;
        const locator gone = freed[input_.ConsumeIntegralInRange<std::size_t>(0, freed.size() - 1)];
        return forget_locator{gone};
    }

    bool may_write(const locator& at) {
        const bool is_open = opened_.contains(at.container) && !sealed_.contains(at.container);
        return (is_open || at.container > segments) && used_.insert(at).second;
    }
    bool seals(const locator& at) {
        const bool alone = input_.ConsumeBool();
        if (alone) sealed_.insert(at.container);
        return alone;
    }

    FuzzedDataProvider& input_;
    std::set<locator> used_;
    std::set<std::uint64_t> opened_;
    std::set<std::uint64_t> sealed_;
};

void check_same(const applied& a, const applied& b) {
    CAIRN_CHECK(a.changed == b.changed);
    CAIRN_CHECK(a.standing.has_value() == b.standing.has_value());
    if (a.standing) CAIRN_CHECK(a.standing->where == b.standing->where);
}

void check_same_state(sqlite_rows& a, memory_catalog& b, std::vector<locator>& freed) {
    const auto rows_a = a.read().list(std::nullopt, 100).value();
    const auto rows_b = run_coro(b.list(std::nullopt, 100)).value();
    CAIRN_CHECK(
        std::equal(rows_a.begin(), rows_a.end(), rows_b.begin(), rows_b.end(),
                   [](const row& x, const row& y) { return x.id == y.id && x.where == y.where; }));
    freed = a.read().reclaimable(100).value();
    auto freed_b = run_coro(b.reclaimable(100)).value();
    std::sort(freed.begin(), freed.end());
    std::sort(freed_b.begin(), freed_b.end());
    CAIRN_CHECK(freed == freed_b);
    const auto segments_a = a.read().segments(0, 100, false).value();
    const auto segments_b = run_coro(b.segments(0, 100, false)).value();
    CAIRN_CHECK(std::equal(segments_a.begin(), segments_a.end(), segments_b.begin(),
                           segments_b.end(), [](const segment_row& x, const segment_row& y) {
                               return x.segment == y.segment && x.sealed == y.sealed &&
                                      x.end_bytes == y.end_bytes && x.live_bytes == y.live_bytes;
                           }));
    const auto counts_a = a.read().count().value();
    const auto counts_b = run_coro(b.count()).value();
    CAIRN_CHECK(counts_a.blob_count == counts_b.blob_count);
    CAIRN_CHECK(counts_a.blob_bytes == counts_b.blob_bytes);
    CAIRN_CHECK(counts_a.quarantined_count == counts_b.quarantined_count);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FuzzedDataProvider input(data, std::min<std::size_t>(size, 512));
    sqlite_rows rows;
    memory_catalog twin;
    script changes(input);
    while (input.remaining_bytes() > 0) {
        std::vector<change> batch;
        for (int left = input.ConsumeIntegralInRange(1, 4); left > 0; --left) {
            if (auto next = changes.next()) batch.push_back(std::move(*next));
        }
        const auto replies = rows.commit(batch);
        for (std::size_t i = 0; i < batch.size(); ++i) {
            CAIRN_CHECK(replies[i].has_value());
            const auto answered = run_coro(twin.commit(batch[i]));
            CAIRN_CHECK(answered.has_value());
            check_same(*replies[i], *answered);
        }
        check_same_state(rows, twin, changes.freed);
    }
    return 0;
}
