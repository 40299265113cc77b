// What a store promises (store/store.hpp), over each combination of engines and each io backend.
#include "store/store.hpp"

#include "runtime/task_scope.hpp"
#include "store/open_store.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/postgres_server.hpp"
#include "tests/support/results.hpp"
#include "tests/support/temp_dir.hpp"

#include <boost/asio/this_coro.hpp>
#include <doctest/doctest.h>
#include <set>
#include <string>
#include <vector>

namespace cairn {
namespace {

class engine_base {
public:
    static constexpr bool may_cut_readers = false;

    ~engine_base() { close(); }
    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }
    void close() {
        if (opened) run(opened->close());
        opened.reset();
    }
    cairn::store& store() { return *opened; }

    runtime threads{{.threads = 2, .blocking_threads = 2}};
    std::unique_ptr<cairn::store> opened;
};

class memory_store : public engine_base {
public:
    memory_store() { opened = run(open_memory_store(threads)); }
};

template <io_choice choice>
class durable_store : public engine_base {
public:
    durable_store() { open(); }
    ~durable_store() { close(); }
    void open() {
        store_options options;
        options.data = folder.path();
        options.io = choice;
        opened = run(open_store(threads, options)).value();
    }

    test::temp_dir folder;
};
using store_on_ring = durable_store<io_choice::automatic>;
using store_on_pool = durable_store<io_choice::pool>;

// A database of its own on the server that the tests of this process share.
template <bulk_kind kind>
class postgres_store : public engine_base {
public:
    // Others may remove what is read here.
    static constexpr bool may_cut_readers = true;

    postgres_store() {
        test::postgres_server& server = test::postgres_server::shared();
        url = server.url(server.fresh_database());
        open();
    }
    ~postgres_store() { close(); }
    void open() {
        store_options options;
        options.catalog = url;
        options.bulk = kind;
        opened = run(open_store(threads, options)).value();
    }

    std::string url;
};
using store_on_chunks = postgres_store<bulk_kind::chunks>;
using store_on_large_objects = postgres_store<bulk_kind::large_objects>;

#define STORES memory_store, store_on_ring, store_on_pool, store_on_chunks, store_on_large_objects

template <class Engine>
result<receipt> put(Engine& engine,
                    const buffer& body,
                    std::optional<blob_id> claim = {},
                    test::manner how = {}) {
    test::piecewise_source from(body, how);
    return engine.run(engine.store().put(from, claim));
}

awaitable<result<std::string>> read_blob(store& from, blob_id id, byte_range range) {
    auto opened = co_await from.get(id, range);
    if (!opened) co_return opened.error();
    if (!*opened) co_return error_code(errc::absent);
    co_return co_await test::read_all(**opened);
}

template <class Engine>
result<std::string> get(Engine& engine, const blob_id& id, byte_range range = {}) {
    return engine.run(read_blob(engine.store(), id, range));
}

constexpr std::size_t sizes[] = {0,     1,      1024,    4095,          4096,     4097,
                                 65536, 300000, 4 << 20, (4 << 20) + 1, 9'000'000};

TEST_CASE_TEMPLATE("store: a blob of any size comes back byte for byte", Engine, STORES) {
    Engine engine;
    for (const std::size_t size_bytes : sizes) {
        CAPTURE(size_bytes);
        const buffer body = test::random_body(size_bytes, size_bytes);
        const auto stored = put(engine, body);
        REQUIRE(stored);
        CHECK(stored->id == blob_id::of(body.view()));
        CHECK(stored->size_bytes == size_bytes);
        CHECK(stored->created);
        CHECK((get(engine, stored->id).value() == body.text()));
        const auto held = engine.run(engine.store().hold(stored->id)).value();
        REQUIRE(held);
        CHECK(held->size_bytes == size_bytes);
    }
}

TEST_CASE_TEMPLATE("store: a body of unknown length is stored like any other", Engine, STORES) {
    Engine engine;
    test::manner how;
    how.announces_size = false;
    how.piece_bytes = 3000;
    for (const std::size_t size_bytes : {0, 100, 4096, 4097, 500'000}) {
        CAPTURE(size_bytes);
        const buffer body = test::random_body(size_bytes, size_bytes);
        const auto stored = put(engine, body, std::nullopt, how);
        REQUIRE(stored);
        CHECK((get(engine, stored->id).value() == body.text()));
    }
}

TEST_CASE_TEMPLATE("store: a second put of a blob says so and stores nothing", Engine, STORES) {
    Engine engine;
    for (const std::size_t size_bytes : sizes) {
        CAPTURE(size_bytes);
        const buffer body = test::random_body(size_bytes, size_bytes);
        const blob_id id = blob_id::of(body.view());
        CHECK(put(engine, body).value().created);
        CHECK_FALSE(put(engine, body).value().created);
        CHECK_FALSE(put(engine, body, id).value().created);
    }
    const auto status = engine.run(engine.store().status()).value();
    CHECK(status.blob_count == std::size(sizes));
}

TEST_CASE_TEMPLATE("store: bytes that do not hash to the claim leave nothing visible",
                   Engine,
                   STORES) {
    Engine engine;
    for (const std::size_t size_bytes : {10, 10'000, 5'000'000}) {
        CAPTURE(size_bytes);
        const buffer body = test::random_body(size_bytes, 1);
        const blob_id other = blob_id::of(test::random_body(size_bytes, 2).view());
        CHECK(put(engine, body, other).error() == errc::digest_mismatch);
        CHECK(get(engine, other).error() == errc::absent);
        CHECK(get(engine, blob_id::of(body.view())).error() == errc::absent);
    }
    // Also when a blob of the claimed id is there already.
    const buffer present = test::random_body(10'000, 3);
    const blob_id id = put(engine, present).value().id;
    CHECK(put(engine, test::random_body(10'000, 4), id).error() == errc::digest_mismatch);
    CHECK((get(engine, id).value() == present.text()));
}

TEST_CASE_TEMPLATE("store: a body that ends in an error leaves nothing visible", Engine, STORES) {
    Engine engine;
    for (const std::size_t ends_after_bytes : {0, 100, 70'000, 4'500'000}) {
        CAPTURE(ends_after_bytes);
        test::manner how;
        how.ends_with = error_code(errc::timed_out);
        how.ends_after_bytes = ends_after_bytes;
        CHECK(put(engine, test::random_body(5'000'000, 1), std::nullopt, how).error() ==
              errc::timed_out);
    }
    CHECK(engine.run(engine.store().list(std::nullopt, 10)).value().empty());
}

TEST_CASE_TEMPLATE("store: a range is cut at the end, and past the end is a clean error",
                   Engine,
                   STORES) {
    Engine engine;
    for (const std::size_t size_bytes : {1000, 100'000}) {
        const buffer body = test::random_body(size_bytes, 1);
        const blob_id id = put(engine, body).value().id;
        CHECK((get(engine, id, {10, 20}).value() == body.text().substr(10, 20)));
        CHECK(
            (get(engine, id, {size_bytes - 5, 100}).value() == body.text().substr(size_bytes - 5)));
        CHECK((get(engine, id, {size_bytes - 1, UINT64_MAX}).value() ==
               body.text().substr(size_bytes - 1)));
        CHECK(get(engine, id, {size_bytes, 1}).error() == errc::out_of_range);
        CHECK(get(engine, id, {UINT64_MAX, UINT64_MAX}).error() == errc::out_of_range);
    }
    const blob_id empty = put(engine, buffer()).value().id;
    CHECK(get(engine, empty).value().empty());
    CHECK(get(engine, empty, {1, 1}).error() == errc::out_of_range);
}

TEST_CASE_TEMPLATE("store: a removed blob is gone at once, and who reads it finishes",
                   Engine,
                   STORES) {
    Engine engine;
    for (const std::size_t size_bytes : sizes) {
        CAPTURE(size_bytes);
        const buffer body = test::random_body(size_bytes, size_bytes);
        const blob_id id = put(engine, body).value().id;
        auto reader = engine.run(engine.store().get(id, byte_range())).value();
        CHECK(engine.run(engine.store().remove(id)).value());
        CHECK(get(engine, id).error() == errc::absent);
        CHECK_FALSE(engine.run(engine.store().hold(id)).value());
        CHECK_FALSE(engine.run(engine.store().remove(id)).value());
        const auto rest = engine.run(test::read_all(*reader));
        const bool was_cut = Engine::may_cut_readers && rest.error() == errc::vanished;
        CHECK((was_cut || rest.value() == body.text()));
        CHECK(put(engine, body).value().created);
    }
}

TEST_CASE_TEMPLATE("store: list is exactly the live set", Engine, STORES) {
    Engine engine;
    std::set<blob_id> live;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        live.insert(put(engine, test::random_body(seed * 400, seed)).value().id);
    }
    const blob_id gone = *live.begin();
    engine.run(engine.store().remove(gone)).value();
    live.erase(gone);
    std::vector<blob_id> listed;
    std::optional<blob_id> after;
    while (true) {
        const auto page = engine.run(engine.store().list(after, 7)).value();
        for (const auto& each : page) listed.push_back(each.id);
        if (page.size() < 7) break;
        after = page.back().id;
    }
    CHECK(listed == std::vector<blob_id>(live.begin(), live.end()));
}

awaitable<void> put_one(store& to, buffer body, std::size_t& created) {
    test::piecewise_source from(body);
    auto stored = co_await to.put(from, std::nullopt);
    created += stored.value().created;
}

awaitable<std::size_t> put_same_at_once(store& to, std::size_t size_bytes) {
    const executor here = co_await asio::this_coro::executor;
    const buffer body = test::random_body(size_bytes, size_bytes);
    std::size_t created = 0;
    task_scope callers(here);
    for (int i = 0; i < 16; ++i) callers.spawn(put_one(to, body, created));
    co_await callers.join();
    co_return created;
}

TEST_CASE_TEMPLATE("store: of many puts of one blob at once all succeed and one creates",
                   Engine,
                   STORES) {
    Engine engine;
    for (const std::size_t size_bytes : {500, 50'000, 4'300'000}) {
        CAPTURE(size_bytes);
        CHECK(engine.run(put_same_at_once(engine.store(), size_bytes)) == 1);
        const buffer body = test::random_body(size_bytes, size_bytes);
        CHECK((get(engine, blob_id::of(body.view())).value() == body.text()));
    }
    CHECK(engine.run(engine.store().status()).value().blob_count == 3);
}

TEST_CASE_TEMPLATE("store: a blob over the limit is refused before its body is read",
                   Engine,
                   store_on_ring) {
    Engine engine;
    engine.close();
    store_options options;
    options.data = engine.folder.path();
    options.max_blob_bytes = 10'000;
    engine.opened = engine.run(open_store(engine.threads, options)).value();
    CHECK(put(engine, test::random_body(10'001, 1)).error() == errc::too_large);
    CHECK(put(engine, test::random_body(10'000, 1)));
    test::manner how;
    how.announces_size = false;
    CHECK(put(engine, test::random_body(20'000, 2), std::nullopt, how).error() == errc::too_large);
}

TEST_CASE_TEMPLATE("store: what was put is there after reopening, what was removed is not",
                   Engine,
                   store_on_ring,
                   store_on_pool,
                   store_on_chunks,
                   store_on_large_objects) {
    Engine engine;
    std::vector<buffer> bodies;
    for (const std::size_t size_bytes : sizes) {
        bodies.push_back(test::random_body(size_bytes, size_bytes + 1));
        put(engine, bodies.back()).value();
    }
    const buffer gone = test::random_body(20'000, 99);
    const blob_id gone_id = put(engine, gone).value().id;
    engine.run(engine.store().remove(gone_id)).value();
    const auto before = engine.run(engine.store().status()).value();
    engine.close();
    engine.open();
    const auto after = engine.run(engine.store().status()).value();
    CHECK(after.boot == before.boot + 1);
    CHECK(after.blob_count == bodies.size());
    CHECK(after.blob_bytes == before.blob_bytes);
    for (const buffer& body : bodies) {
        CHECK((get(engine, blob_id::of(body.view())).value() == body.text()));
    }
    CHECK(get(engine, gone_id).error() == errc::absent);
}

TEST_CASE_TEMPLATE("store: one folder has one owner at a time", Engine, store_on_ring) {
    Engine engine;
    store_options options;
    options.data = engine.folder.path();
    const auto second = engine.run(open_store(engine.threads, options));
    CHECK(second.error() == errc::already_locked);
}

}  // namespace
}  // namespace cairn
