#include "store/verification.hpp"

#include "store/open_store.hpp"
#include "tests/support/bodies.hpp"
#include "tests/support/forwarding_store.hpp"

#include <doctest/doctest.h>

namespace cairn {
namespace {

using test::random_body;

// Remembers what it was told was bad.
class notes final : public verify_watcher {
public:
    void read(std::uint64_t count) override { bytes += count; }
    void bad(const listed_blob& blob, const error_code& why) override {
        found.emplace_back(blob.id, why);
    }

    std::uint64_t bytes = 0;
    std::vector<std::pair<blob_id, error_code>> found;
};

// Answers one blob with the bytes of another, and removes a second one before it is read.
class odd_store final : public test::forwarding_store {
public:
    using forwarding_store::forwarding_store;

    awaitable<result<std::unique_ptr<source>>> get(blob_id id, byte_range range) override {
        if (id == vanishing) co_return std::unique_ptr<source>();
        if (id == failing) co_return error_code(errc::unavailable);
        const blob_id asked = id == swapped ? instead : id;
        co_return co_await forwarding_store::get(asked, range);
    }

    blob_id vanishing, failing, swapped, instead;
};

class fixture {
public:
    fixture() {
        for (std::uint64_t i = 0; i < 50; ++i) ids.push_back(put(random_body(1000 * i, i)));
    }
    ~fixture() { run(real->close()); }

    template <class T>
    T run(awaitable<T> work) {
        return threads.run(std::move(work));
    }
    blob_id put(const buffer& body) {
        buffer_source from(body);
        return run(real->put(from, std::nullopt)).value().id;
    }

    runtime threads{{.threads = 2, .blocking_threads = 1}};
    std::unique_ptr<store> real = run(open_memory_store(threads));
    odd_store odd{*real};
    std::vector<blob_id> ids;
    notes told;
    verify_limits small_pages{.in_flight = 4, .page_blobs = 7};
};

}  // namespace

TEST_CASE("verify: every byte of every blob is read and hashed, over all pages") {
    fixture test;
    const auto done = test.run(verify(*test.real, test.told, test.small_pages));
    REQUIRE(done.has_value());
    CHECK(done->good.blobs == 50);
    CHECK(done->good.bytes == 1000 * 49 * 50 / 2);
    CHECK(test.told.bytes == done->good.bytes);
    CHECK(done->bad.blobs == 0);
}

TEST_CASE("verify: bytes that are another blob's are bad, though every check of theirs holds") {
    fixture test;
    test.odd.swapped = test.ids[20];
    test.odd.instead = test.ids[21];
    const auto done = test.run(verify(test.odd, test.told, test.small_pages));
    REQUIRE(done.has_value());
    CHECK(done->good.blobs == 49);
    CHECK(done->bad.blobs == 1);
    REQUIRE(test.told.found.size() == 1);
    CHECK(test.told.found.front().first == test.ids[20]);
    CHECK(test.told.found.front().second == errc::corrupt);
}

TEST_CASE("verify: a blob that is removed meanwhile is neither good nor bad") {
    fixture test;
    test.odd.vanishing = test.ids[7];
    const auto done = test.run(verify(test.odd, test.told, test.small_pages));
    REQUIRE(done.has_value());
    CHECK(done->good.blobs == 49);
    CHECK(done->bad.blobs == 0);
}

TEST_CASE("verify: a store that cannot answer ends it with its error") {
    fixture test;
    test.odd.failing = test.ids[30];
    const auto done = test.run(verify(test.odd, test.told, test.small_pages));
    CHECK(done.error() == errc::unavailable);
}

}  // namespace cairn
