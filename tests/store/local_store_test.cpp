// What the local store adds to its engines, over the twins: what rots, vanishes and fails.
#include "store/local_store.hpp"

#include "engines/memory/memory_bulk.hpp"
#include "engines/memory/memory_catalog.hpp"
#include "runtime/deadline.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/results.hpp"

#include <doctest/doctest.h>
#include <utility>

namespace cairn {
namespace {

using test::piecewise_source;

class fixture {
public:
    explicit fixture(local_store_options options = {}) {
        auto catalog = std::make_unique<memory_catalog>();
        auto bytes = std::make_unique<memory_bulk>();
        rows = catalog.get();
        bulk = bytes.get();
        local_store::parts parts;
        parts.stop = std::make_unique<fail_stop>();
        stop = parts.stop.get();
        parts.catalog = std::move(catalog);
        parts.bulk = std::move(bytes);
        store = run(local_store::open(threads, std::move(parts), options));
    }
    ~fixture() { run(store->close()); }

    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }
    result<receipt> put(const buffer& body, std::optional<blob_id> claim = {}) {
        piecewise_source from(body);
        return run(store->put(from, claim));
    }
    result<std::string> get(const blob_id& id) {
        const byte_range whole;
        auto opened = run(store->get(id, whole));
        if (!opened) return opened.error();
        if (!*opened) return error_code(errc::absent);
        return run(test::read_all(**opened));
    }
    row found(const blob_id& id) { return *run(rows->find(id)).value(); }
    template <class Condition>
    bool eventually(Condition holds) {
        for (int i = 0; i < 1000; ++i) {
            if (holds()) return true;
            run(sleep_for(std::chrono::milliseconds(2)));
        }
        return false;
    }

    runtime threads{{.threads = 2, .blocking_threads = 1}};
    memory_catalog* rows = nullptr;
    memory_bulk* bulk = nullptr;
    fail_stop* stop = nullptr;
    std::unique_ptr<local_store> store;
};

TEST_CASE("local store: rotten bytes are cut off, quarantined, and healed by a put (R5)") {
    fixture test;
    const buffer body = test::random_body(200'000, 1);
    const blob_id id = test.put(body).value().id;
    test.bulk->flip_bit(*test.found(id).where, 150'000 * 8);
    CHECK(test.get(id).error() == errc::corrupt);      // noticed on the way
    CHECK(test.get(id).error() == errc::quarantined);  // known from now on
    CHECK_FALSE(test.run(test.store->hold(id)).value());
    CHECK(test.run(test.store->list(std::nullopt, 10)).value().empty());
    CHECK(test.run(test.store->status()).value().quarantined_count == 1);
    CHECK(test.put(body, id).value().created);
    CHECK((test.get(id).value() == body.text()));
    CHECK(test.run(test.store->status()).value().quarantined_count == 0);
}

TEST_CASE("local store: a quarantined blob can be removed, and then put as new") {
    fixture test;
    const buffer body = test::random_body(200'000, 1);
    const blob_id id = test.put(body).value().id;
    test.bulk->flip_bit(*test.found(id).where, 7);
    CHECK(test.get(id).error() == errc::corrupt);
    CHECK(test.run(test.store->remove(id)).value());
    CHECK(test.get(id).error() == errc::absent);
    CHECK(test.put(body).value().created);
}

TEST_CASE("local store: bytes that are gone quarantine their blob; the row alone is no blob") {
    fixture test;
    const buffer body = test::random_body(200'000, 1);
    const blob_id id = test.put(body).value().id;
    test.run(test.bulk->erase(*test.found(id).where)).value();
    CHECK(test.get(id).error() == errc::quarantined);
    CHECK(test.put(body).value().created);
    CHECK((test.get(id).value() == body.text()));
}

TEST_CASE("local store: bytes that fail after their blob was removed accuse nobody (R4.3)") {
    fixture test;
    const blob_id id = test.put(test::random_body(200'000, 1)).value().id;
    test.run(test.bulk->erase(*test.found(id).where)).value();
    // Behind the store, whose cache so holds the row of a reader that is late.
    test.run(test.rows->commit(remove_blob{id})).value();
    CHECK(test.get(id).error() == errc::absent);
    CHECK(test.run(test.store->status()).value().quarantined_count == 0);
}

TEST_CASE("local store: an inline value that rots is never given out") {
    local_store_options options;
    options.cache_bytes = 0;
    fixture test(options);
    put_blob rotten;
    rotten.value = test::random_body(100, 1);
    rotten.id = blob_id::of(rotten.value.view());
    rotten.size_bytes = 100;
    rotten.checksums_digest = checksums::of(rotten.value.view()).digest() ^ 1;
    test.run(test.rows->commit(rotten)).value();
    CHECK(test.get(rotten.id).error() == errc::quarantined);
    CHECK(test.put(rotten.value).value().created);
    CHECK((test.get(rotten.id).value() == rotten.value.text()));
}

// Removes the blob that is being put again, while its body is on the way.
class removing_source final : public source {
public:
    removing_source(local_store& from, buffer body)
        : from_(from), body_(body), inner_(std::move(body)) {}
    std::optional<std::uint64_t> size() const override { return inner_.size(); }
    awaitable<result<buffer>> next() override {
        if (!removed_) {
            removed_ = true;
            auto done = co_await from_.remove(blob_id::of(body_.view()));
            CHECK(done.value());
        }
        co_return co_await inner_.next();
    }

private:
    local_store& from_;
    const buffer body_;
    buffer_source inner_;
    bool removed_ = false;
};

TEST_CASE("local store: a put that kept no body answers by what is there after it (R1.4)") {
    fixture test;
    const buffer body = test::random_body(200'000, 1);
    const blob_id id = test.put(body).value().id;
    removing_source from(*test.store, body);
    const auto answer = test.run(test.store->put(from, id));
    CHECK(answer.error() == errc::vanished);
    CHECK(answer.error() == failure::retryable);
    CHECK(test.get(id).error() == errc::absent);
    CHECK(test.put(body, id).value().created);
}

TEST_CASE("local store: removed bytes are given back in the background (R4)") {
    fixture test;
    const blob_id id = test.put(test::random_body(200'000, 1)).value().id;
    test.run(test.store->remove(id)).value();
    const auto is_empty = [&] {
        return test.run(test.bulk->scan({}, UINT64_MAX, 10)).value().empty();
    };
    CHECK(test.eventually(is_empty));
    CHECK(
        test.eventually([&] { return test.run(test.store->status()).value().reclaim_count == 0; }));
}

TEST_CASE("local store: once stopped it answers nobody, hits included (R6)") {
    fixture test;
    const blob_id id = test.put(test::random_body(100, 1)).value().id;
    CHECK(test.get(id));
    test.stop->trip(errc::outcome_unknown, "test");
    CHECK(test.get(id).error() == errc::stopped);
    CHECK(test.run(test.store->hold(id)).error() == errc::stopped);
    CHECK(test.run(test.store->list(std::nullopt, 1)).error() == errc::stopped);
    CHECK(test.run(test.store->remove(id)).error() == errc::stopped);
    CHECK(test.put(test::random_body(100, 2)).error() == errc::stopped);
    CHECK(test.run(test.store->status()).value().stopped.starts_with("test: "));
}

TEST_CASE("local store: without bulk a blob over the inline limit is refused clearly") {
    runtime threads{{.threads = 1, .blocking_threads = 1}};
    local_store::parts parts;
    parts.stop = std::make_unique<fail_stop>();
    parts.catalog = std::make_unique<memory_catalog>();
    auto store = threads.run(local_store::open(threads, std::move(parts)));
    piecewise_source small(test::random_body(4096, 1));
    piecewise_source large(test::random_body(4097, 2));
    CHECK(threads.run(store->put(small, std::nullopt)));
    CHECK(threads.run(store->put(large, std::nullopt)).error() == errc::too_large);
    threads.run(store->close());
}

}  // namespace
}  // namespace cairn
