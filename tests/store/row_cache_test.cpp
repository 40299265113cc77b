// A cache of presence may never say that a blob is there after its removal was answered: each
// interleaving of a look-up and a removal, step by step.
#include "store/row_cache.hpp"

#include "tests/support/bodies.hpp"
#include "tests/support/results.hpp"

#include <doctest/doctest.h>

namespace cairn {
namespace {

row_cache::row_ptr a_row(std::uint64_t seed, std::size_t value_bytes = 100) {
    auto made = std::make_shared<row>();
    made->value = test::random_body(value_bytes, seed);
    made->id = blob_id::of(made->value.view());
    made->size_bytes = value_bytes;
    return made;
}

TEST_CASE("row cache: what was inserted is found, and nothing else") {
    row_cache cache(1 << 20);
    const auto kept = a_row(1);
    cache.insert(kept, cache.epoch(kept->id));
    CHECK(cache.find(kept->id) == kept);
    CHECK(cache.find(a_row(2)->id) == nullptr);
}

TEST_CASE("row cache: a removal under way hides the row and lets none in") {
    row_cache cache(1 << 20);
    const auto kept = a_row(1);
    cache.insert(kept, cache.epoch(kept->id));
    const row_cache::leaving removal(cache, kept->id);
    CHECK(cache.find(kept->id) == nullptr);
    cache.insert(kept, cache.epoch(kept->id));
    CHECK(cache.find(kept->id) == nullptr);
}

TEST_CASE("row cache: a look-up that began before a removal ended adds nothing after it") {
    row_cache cache(1 << 20);
    const auto kept = a_row(1);
    const std::uint64_t before = cache.epoch(kept->id);
    { const row_cache::leaving removal(cache, kept->id); }
    cache.insert(kept, before);
    CHECK(cache.find(kept->id) == nullptr);
    cache.insert(kept, cache.epoch(kept->id));
    CHECK(cache.find(kept->id) == kept);
}

TEST_CASE("row cache: of two removals at once the id leaves until the last is answered") {
    row_cache cache(1 << 20);
    const auto kept = a_row(1);
    auto first = std::make_unique<row_cache::leaving>(cache, kept->id);
    auto second = std::make_unique<row_cache::leaving>(cache, kept->id);
    first.reset();
    cache.insert(kept, cache.epoch(kept->id));
    CHECK(cache.find(kept->id) == nullptr);
    second.reset();
    cache.insert(kept, cache.epoch(kept->id));
    CHECK(cache.find(kept->id) == kept);
}

TEST_CASE("row cache: memory is bounded, and what was used last stays") {
    row_cache cache(64 * 4000);
    std::vector<row_cache::row_ptr> rows;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        rows.push_back(a_row(seed, 1000));
        cache.insert(rows.back(), cache.epoch(rows.back()->id));
        CHECK(cache.find(rows.back()->id) != nullptr);
    }
    CHECK(cache.size_bytes() <= 64 * 4000);
    CHECK(cache.find(rows.front()->id) == nullptr);
}

TEST_CASE("row cache: a cache of no bytes keeps nothing") {
    row_cache cache(0);
    const auto kept = a_row(1);
    cache.insert(kept, cache.epoch(kept->id));
    CHECK(cache.find(kept->id) == nullptr);
}

}  // namespace
}  // namespace cairn
