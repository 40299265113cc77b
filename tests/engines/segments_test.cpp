// How segments keep their promises: on the disk's twin in memory, so that every call on a file can
// be counted, failed and forgotten.
#include "engines/segments/segments.hpp"

#include "engines/memory/memory_catalog.hpp"
#include "engines/segments/record.hpp"
#include "engines/segments/segment_name.hpp"
#include "engines/segments/written_ahead.hpp"
#include "io/memory_file_system.hpp"
#include "runtime/channel.hpp"
#include "runtime/deadline.hpp"
#include "runtime/task_scope.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/results.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>
#include <map>
#include <set>

namespace cairn {
namespace {

using test::manner;
using test::piecewise_source;

class fixture {
public:
    explicit fixture(segments_options how = small()) : options(how) { open(); }
    ~fixture() { close(); }

    static segments_options small() {
        segments_options options;
        options.segment_bytes = 1 << 20;
        options.shared_record_bytes_max = 256 << 10;
        return options;
    }

    void open() {
        stop = std::make_unique<fail_stop>();
        bulk = run(segments::open(threads, files, "/segments", rows, *stop, options)).value();
    }
    void close() {
        if (bulk) run(bulk->close());
        bulk.reset();
    }
    // The process dies and the power fails; another boot opens what is left.
    void crash(std::optional<std::uint64_t> seed = {}) {
        close();
        files.crash(seed);
        rows.reopen();
        open();
    }

    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }
    result<std::unique_ptr<draft>> write(const buffer& body,
                                         manner how = {},
                                         intake_for what = intake_for::put) {
        piecewise_source from(body, how);
        intake in(from, std::nullopt, UINT64_MAX, what);
        return run(bulk->write(in));
    }
    applied commit(change what) { return run(rows.commit(std::move(what))).value(); }
    // Written and published, as the store does.
    extent put(const buffer& body) {
        auto written = write(body).value();
        put_blob row;
        row.id = blob_id::of(body.view());
        row.size_bytes = body.size();
        row.checksums_digest = written->stored().checksums_digest;
        row.where = written->stored().at;
        row.alone = written->alone();
        commit(row);
        written->decide();
        return written->stored();
    }
    result<std::string> read(const extent& stored) {
        const byte_range whole{0, stored.size_bytes};
        auto opened = run(bulk->read(stored, whole));
        if (!opened) return opened.error();
        return run(test::read_all(**opened));
    }
    std::vector<segment_row> ledger(bool only_unsealed = false) {
        return run(rows.segments(0, 1000, only_unsealed)).value();
    }
    std::vector<std::string> listed() { return run(files.list("/segments")).value(); }
    // Background work goes on until the ledger shows it.
    template <class Condition>
    bool eventually(Condition holds) {
        for (int i = 0; i < 500; ++i) {
            if (holds()) return true;
            run(sleep_for(std::chrono::milliseconds(2)));
        }
        return false;
    }
    // SAFETY.md R2: no file that the ledger does not know, no live byte without a file.
    void audit() {
        std::set<std::string> known;
        for (const segment_row& each : ledger()) known.insert(segment_name(each.segment));
        for (const std::string& name : listed()) {
            CAPTURE(name);
            CHECK(known.contains(name));
        }
    }

    segments_options options;
    runtime threads{{.threads = 2, .blocking_threads = 2}};
    memory_file_system files;
    memory_catalog rows;
    std::unique_ptr<fail_stop> stop;
    std::unique_ptr<segments> bulk;
};

TEST_CASE("segments: small records share a segment, and each starts on a block") {
    fixture store;
    const extent first = store.put(test::random_body(5'000, 1));
    const extent second = store.put(test::random_body(5'000, 2));
    CHECK(first.at.container == second.at.container);
    CHECK(first.at.offset % 4096 == 0);
    CHECK(second.at.offset == first.at.offset + first.at.length_bytes);
    CHECK(store.ledger().size() == 1);
}

segments_options large_segments() {
    segments_options options;
    options.segment_bytes = 64 << 20;
    return options;
}

TEST_CASE("segments: zeros are written ahead of the records, and never over one") {
    fixture store(large_segments());
    std::vector<std::pair<std::uint64_t, extent>> kept;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        kept.emplace_back(seed, store.put(test::random_body(60'000, seed)));
    }
    // Two pieces each; the rest are zeros.
    const auto writes = [&] { return store.files.plan().calls(file_call::write); };
    CHECK(store.eventually([&] { return writes() > 600; }));
    store.close();
    store.rows.reopen();
    store.open();
    for (const auto& [seed, stored] : kept) {
        CHECK((store.read(stored).value() == test::random_body(60'000, seed).text()));
    }
}

TEST_CASE("segments: what is written ahead keeps its margin and clear of the records") {
    constexpr std::uint64_t MiB = 1 << 20;
    constexpr std::uint64_t capacity = 64 * MiB;
    written_ahead ahead;
    const auto first = ahead.next(0, capacity);
    REQUIRE(first.has_value());
    CHECK(first->offset == written_ahead::lead_bytes);
    CHECK_FALSE(ahead.next(0, capacity));  // one at a time
    CHECK(ahead.place(0, MiB) == 0);
    CHECK(ahead.place(0, MiB + 4096) == first->offset + first->size_bytes);
    CHECK(ahead.place(first->offset, 4096) == first->offset + first->size_bytes);
    ahead.done(true);
    CHECK(ahead.place(0, 2 * MiB) == 0);
    std::uint64_t until = first->offset + first->size_bytes;
    while (const auto next = ahead.next(0, capacity)) {
        CHECK(next->offset == until);
        until = next->offset + next->size_bytes;
        ahead.done(true);
    }
    CHECK(until >= written_ahead::margin_bytes);
    CHECK(until < written_ahead::margin_bytes + 2 * written_ahead::step_bytes);
    const auto last = ahead.next(capacity - 2 * MiB, capacity);
    REQUIRE(last.has_value());
    CHECK(last->offset + last->size_bytes == capacity);
    ahead.done(false);
    CHECK_FALSE(ahead.next(capacity - MiB, capacity));  // given up
}

TEST_CASE("segments: large records and those of unknown length are alone") {
    fixture store;
    CHECK(store.write(test::random_body(300'000, 1)).value()->alone());
    CHECK(store.write(test::random_body(5'000, 2), {.announces_size = false}).value()->alone());
    CHECK_FALSE(store.write(test::random_body(5'000, 3)).value()->alone());
}

TEST_CASE("segments: a full segment is sealed and cut, and the next one is begun") {
    fixture store;
    for (std::uint64_t seed = 0; seed < 10; ++seed) store.put(test::random_body(200'000, seed));
    CHECK(store.ledger().size() >= 2);
    CHECK(store.eventually([&] { return store.ledger(true).size() == 1; }));
    const auto sealed = store.ledger().front();
    auto in =
        store.run(store.files.open("/segments/" + segment_name(sealed.segment), open_mode::read));
    CHECK(store.run((*in)->size()).value() == sealed.end_bytes);
    in->reset();
    store.crash();  // nor does a power cut bring its tail back
    in = store.run(store.files.open("/segments/" + segment_name(sealed.segment), open_mode::read));
    CHECK(store.run((*in)->size()).value() == sealed.end_bytes);
}

TEST_CASE("segments: what an ended boot left open is cut at its last record, then sealed (R2.2)") {
    fixture test;
    test.close();
    const std::uint64_t left = test.rows.boot() << 32 | 77;
    test.commit(open_segment{left});
    put_blob row;
    row.where = locator{left, 0, 8192};
    test.commit(row);
    const std::string path = "/segments/" + segment_name(left);
    const auto in = test.run(test.files.open(path, open_mode::create)).value();
    REQUIRE(test.run(in->preallocate(1 << 20)).has_value());

    test.rows.reopen();
    test.open();
    CHECK(test.run(in->size()).value() == 8192);
    CHECK(test.ledger(true).empty());
}

TEST_CASE("segments: a span that was found good is trusted until the next boot, or never (R5)") {
    fixture test;
    const extent stored = test.put(test::random_body(10'000, 1));
    const std::string path = "/segments/" + segment_name(stored.at.container);
    const auto in = test.run(test.files.open(path, open_mode::read)).value();
    for (const verifying when : {verifying::first, verifying::always}) {
        const auto checks = test.run(record_checks::load(in, stored, when)).value();
        const buffer span = test.run(in->read_at(stored.at.offset, stored.size_bytes)).value();
        CHECK_FALSE(checks->all_good(0, stored.size_bytes));
        CHECK(checks->judge(0, span.view()));
        CHECK(checks->all_good(0, stored.size_bytes) == (when == verifying::first));
    }
}

TEST_CASE("segments: one with an undecided record is not sealed (R2.4)") {
    fixture store;
    auto undecided = store.write(test::random_body(200'000, 1)).value();
    const std::uint64_t first = undecided->stored().at.container;
    for (std::uint64_t seed = 2; seed < 12; ++seed) store.put(test::random_body(200'000, seed));
    store.run(sleep_for(std::chrono::milliseconds(50)));
    CHECK(store.ledger(true).front().segment == first);
    undecided.reset();
    CHECK(store.eventually([&] { return store.ledger(true).front().segment != first; }));
}

TEST_CASE("segments: a body that fails half-way leaves only dead space that is given back") {
    fixture store;
    manner how{.piece_bytes = 50'000,
               .ends_with = error_code(errc::timed_out),
               .ends_after_bytes = 150'000};
    CHECK(store.write(test::random_body(200'000, 1), how).error() == errc::timed_out);
    CHECK(store.write(test::random_body(2'000'000, 2), how).error() == errc::timed_out);
    // The large one's own segment is sealed with nothing live: the sweeper takes it.
    CHECK(store.eventually([&] { return !store.run(store.rows.reclaimable(10)).value().empty(); }));
    const locator dead = store.run(store.rows.reclaimable(10)).value().front();
    CHECK(store.run(store.bulk->erase(dead)));
    store.commit(forget_locator{dead});
    CHECK(store.ledger().size() == 1);
    store.audit();
    // The small one's space in the shared segment reads as zeros again.
    store.put(test::random_body(5'000, 3));
    const std::string path = "/segments/" + segment_name(store.ledger().front().segment);
    auto in = store.run(store.files.open(path, open_mode::read)).value();
    CHECK(store.eventually([&] {
        const auto front = store.run(in->read_at(0, 100'000)).value();
        return front.text() == std::string(100'000, '\0');
    }));
}

TEST_CASE("segments: an upload that outlives its reservation goes on in a segment of its own") {
    auto options = fixture::small();
    options.reservation_time = std::chrono::seconds(0);
    fixture store(options);
    const buffer body = test::random_body(200'000, 1);
    auto moved = store.write(body).value();
    CHECK(moved->alone());
    CHECK((store.read(moved->stored()).value() == body.text()));
}

// Stands still in the middle of its body until it is told to go on.
class held_source final : public source {
public:
    explicit held_source(buffer body) : body_(std::move(body)) {}
    std::optional<std::uint64_t> size() const override { return body_.size(); }
    awaitable<result<buffer>> next() override {
        if (given_) co_return buffer();
        co_await gate.pop();
        given_ = true;
        co_return body_;
    }
    channel<int> gate{1};

private:
    const buffer body_;
    bool given_ = false;
};

awaitable<void> write_into(segments& to, held_source& from, std::unique_ptr<draft>& made) {
    intake in(from, std::nullopt, UINT64_MAX);
    auto written = co_await to.write(in);
    made = std::move(written.value());
}

awaitable<void> reserve_everything(segments& to, std::vector<std::unique_ptr<draft>>& made) {
    const executor here = co_await asio::this_coro::executor;
    std::vector<std::unique_ptr<held_source>> bodies;
    made.resize(8);
    task_scope uploads(here);
    // 8 records of 132 KiB announced: more than the 1 MiB that live reservations may hold.
    for (std::size_t i = 0; i < made.size(); ++i) {
        bodies.push_back(std::make_unique<held_source>(test::random_body(60'000, i)));
        uploads.spawn(write_into(to, *bodies[i], made[i]));
    }
    co_await sleep_for(std::chrono::milliseconds(20));
    for (auto& each : bodies) each->gate.close();
    co_await uploads.join();
}

TEST_CASE("segments: live reservations have a budget; beyond it uploads are alone (R2.3)") {
    auto options = fixture::small();
    options.segment_bytes = 256 << 10;  // four records of 64 KiB at once
    fixture store(options);
    std::vector<std::unique_ptr<draft>> made;
    store.run(reserve_everything(*store.bulk, made));
    const auto alone =
        std::count_if(made.begin(), made.end(), [](const auto& each) { return each->alone(); });
    CHECK(alone == 4);
    for (std::size_t i = 0; i < made.size(); ++i) {
        CHECK((store.read(made[i]->stored()).value() == test::random_body(60'000, i).text()));
    }
}

TEST_CASE("segments: a failed data sync stops the store for good (R6)") {
    fixture store;
    store.put(test::random_body(5'000, 1));
    const extent before = store.put(test::random_body(5'000, 2));
    store.files.plan().add({.kind = fault_kind::io_error, .call = file_call::sync});
    CHECK(store.write(test::random_body(5'000, 3)).error() == errc::outcome_unknown);
    CHECK(store.stop->tripped());
    CHECK(store.write(test::random_body(5'000, 4)).error() == errc::stopped);
    CHECK(store.read(before).error() == errc::stopped);
}

TEST_CASE("segments: a failed data sync of one that a record has alone stops the store, too (R6)") {
    fixture store;
    store.files.plan().add({.kind = fault_kind::io_error, .call = file_call::sync});
    CHECK(store.write(test::random_body(300'000, 1)).error() == errc::outcome_unknown);
    CHECK(store.stop->tripped());
}

TEST_CASE("segments: a failed directory sync stops the store for good (R6)") {
    fixture store;
    store.files.plan().add({.kind = fault_kind::io_error, .call = file_call::sync_directory});
    CHECK(store.write(test::random_body(5'000, 1)).error() == errc::outcome_unknown);
    CHECK(store.stop->tripped());
}

TEST_CASE("segments: no space for a new segment is said, and the store goes on") {
    fixture store;
    store.files.plan().add({.kind = fault_kind::no_space, .call = file_call::preallocate});
    CHECK(store.write(test::random_body(5'000, 1)).error() == errc::no_space);
    CHECK_FALSE(store.stop->tripped());
    CHECK(store.write(test::random_body(5'000, 1)));
}

TEST_CASE("segments: on a small disk a segment takes a quarter of what is free") {
    fixture store;
    store.files.set_space({.free_bytes = 400'000, .total_bytes = 0});
    const extent stored = store.put(test::random_body(5'000, 1));
    const std::string path = "/segments/" + segment_name(stored.at.container);
    auto in = store.run(store.files.open(path, open_mode::read)).value();
    CHECK(store.run(in->size()).value() == 98'304);
}

TEST_CASE("segments: puts leave compaction a sixteenth of a small disk") {
    constexpr std::uint64_t room = 1 << 20;
    const buffer small = test::random_body(5'000, 1);
    const buffer large = test::random_body(300'000, 2);
    fixture store;
    store.files.set_space({.free_bytes = room + 100'000, .total_bytes = 16 * room});
    CHECK(store.write(large).error() == errc::no_space);
    CHECK(store.ledger().empty());  // and has left nothing behind
    CHECK(store.write(small));
    store.files.set_space({.free_bytes = room, .total_bytes = 16 * room});
    CHECK(store.write(test::random_body(200'000, 3)).error() == errc::no_space);
    CHECK(store.write(small, {}, intake_for::move));
    CHECK(store.write(large, {}, intake_for::move));
}

TEST_CASE("segments: every stored byte that rots is noticed, and never given out") {
    fixture store;
    const buffer body = test::random_body(200'000, 1);
    const extent stored = store.put(body);
    const std::string path = "/segments/" + segment_name(stored.at.container);
    auto in = store.run(store.files.open(path, open_mode::read_write)).value();
    std::mt19937_64 random(1);
    for (int i = 0; i < 200; ++i) {
        const std::uint64_t at = random() % stored.at.length_bytes;
        CAPTURE(at);
        const buffer good = store.run(in->read_at(stored.at.offset + at, 1)).value();
        buffer bad = buffer::copy_of(good.view());
        bad.mutable_data()[0] ^= static_cast<std::byte>(1U << random() % 8);
        REQUIRE(store.run(in->write_at(stored.at.offset + at, bad)));
        store.close();  // forgets the checks it knows
        store.rows.reopen();
        store.open();
        const auto read = store.read(stored);
        const bool in_padding =
            at >= 200'000 && at < segment_record::trailer_offset(stored.size_bytes);
        if (in_padding) {
            CHECK((read.value() == body.text()));
        } else {
            CHECK(read.error() == errc::corrupt);
        }
        REQUIRE(store.run(in->write_at(stored.at.offset + at, good)));
    }
    CHECK((store.read(stored).value() == body.text()));
}

}  // namespace
}  // namespace cairn
