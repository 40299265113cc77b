#include "tests/fault/store_actors.hpp"

#include "tests/support/bodies.hpp"

#include <utility>

namespace cairn::test {
namespace {

actor_blob make(std::string_view name, std::size_t size_bytes, bool announces_size = true) {
    buffer bytes = random_body(size_bytes, size_bytes);
    const blob_id id = blob_id::of(bytes.view());
    return {name, std::move(bytes), id, announces_size};
}

}  // namespace

const actor_blob& blob_of(actor which) {
    static const std::array<actor_blob, actor_count> all{{
        make("small", 100),
        make("value", 4096),
        make("shared", 10'000),
        make("wide", 200'000),
        make("streamed", 70'000, false),
        make("rotten", 50'000),
        make("rotten value", 3'000),
        make("new small", 101),
        make("new shared", 10'001),
        make("new streamed", 70'001, false),
        make("new alone", (4 << 20) + 1),
    }};
    return all[static_cast<std::size_t>(which)];
}

}  // namespace cairn::test
