#include "engines/intake.hpp"

#include "tests/support/bodies.hpp"
#include "tests/support/results.hpp"
#include "tests/support/run_coro.hpp"

#include <doctest/doctest.h>

namespace cairn {
namespace {

using test::piecewise_source;
using test::run_coro;

TEST_CASE("checksums: pieces of any size give the sums of the whole") {
    const buffer body = test::random_body(300'001, 1);
    const checksums whole = checksums::of(body.view());
    CHECK(whole.count() == 5);
    for (const std::size_t piece_bytes : {1, 1000, 65535, 65536, 65537, 300'001}) {
        checksum_stream stream;
        for (std::size_t at = 0; at < body.size(); at += piece_bytes) {
            stream.update(body.slice(at, std::min(piece_bytes, body.size() - at)).view());
        }
        CHECK(stream.finish().digest() == whole.digest());
    }
    CHECK(checksums::of({}).count() == 0);
    CHECK(checksums::decode(whole.encoded()).digest() == whole.digest());
}

TEST_CASE("intake: hands every byte on and knows id, size and sums at the end") {
    const buffer body = test::random_body(200'000, 1);
    piecewise_source from(body, {.piece_bytes = 777});
    intake in(from, blob_id::of(body.view()), UINT64_MAX);
    CHECK((run_coro(test::read_all(in)).value() == body.text()));
    CHECK(in.id() == blob_id::of(body.view()));
    CHECK(in.size_bytes() == 200'000);
    CHECK(in.sums().digest() == checksums::of(body.view()).digest());
}

TEST_CASE("intake: a false claim is the body's end") {
    const buffer body = test::random_body(1000, 1);
    piecewise_source from(body);
    intake in(from, blob_id{}, UINT64_MAX);
    CHECK(run_coro(test::read_all(in)).error() == errc::digest_mismatch);
}

TEST_CASE("intake: a body over the limit, or shorter than it said, ends with an error") {
    const buffer body = test::random_body(1000, 1);
    piecewise_source large(body, {.piece_bytes = 100, .announces_size = false});
    intake limited(large, std::nullopt, 999);
    CHECK(run_coro(test::read_all(limited)).error() == errc::too_large);
    piecewise_source cut(body, {.piece_bytes = 100, .ends_after_bytes = 900});
    intake in(cut, std::nullopt, UINT64_MAX);
    CHECK(run_coro(test::read_all(in)).error() == errc::short_body);
}

TEST_CASE("intake: a small body is had as one piece, a larger one is given from its first byte") {
    for (const bool announces_size : {true, false}) {
        for (const std::size_t size_bytes : {0, 1, 4095, 4096}) {
            const buffer body = test::random_body(size_bytes, 1);
            piecewise_source from(body, {.piece_bytes = 1000, .announces_size = announces_size});
            intake in(from, std::nullopt, UINT64_MAX);
            const auto whole = run_coro(in.whole_within(4096)).value();
            REQUIRE(whole);
            CHECK(whole->text() == body.text());
            CHECK(in.id() == blob_id::of(body.view()));
        }
        const buffer body = test::random_body(4097, 1);
        piecewise_source from(body, {.piece_bytes = 1000, .announces_size = announces_size});
        intake in(from, std::nullopt, UINT64_MAX);
        CHECK_FALSE(run_coro(in.whole_within(4096)).value());
        CHECK((run_coro(test::read_all(in)).value() == body.text()));
        CHECK(in.id() == blob_id::of(body.view()));
    }
}

}  // namespace
}  // namespace cairn
