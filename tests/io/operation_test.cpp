// The machine that every transfer goes through, fed by hand with what a kernel may answer.
#include "io/operation.hpp"

#include "runtime/error.hpp"

#include <boost/system/errc.hpp>
#include <cerrno>
#include <doctest/doctest.h>

namespace cairn {
namespace {

operation write_of(std::size_t size_bytes) {
    return operation::write(nullptr, 3, 1000, {buffer::allocate(size_bytes)});
}

TEST_CASE("operation: a full transfer is one call") {
    auto work = write_of(50);
    CHECK(work.what() == operation::kind::write);
    CHECK(work.offset() == 1000);
    CHECK(work.size() == 50);
    work.advance(50);
    CHECK(work.finished());
    CHECK(work.status());
}

TEST_CASE("operation: after a short transfer the next call takes the rest") {
    auto work = write_of(50);
    std::byte* const begin = work.data();
    work.advance(20);
    CHECK(!work.finished());
    CHECK(work.data() == begin + 20);
    CHECK(work.offset() == 1020);
    CHECK(work.size() == 30);
    work.advance(30);
    CHECK(work.finished());
    CHECK(work.status());
}

TEST_CASE("operation: an interrupted transfer is called again as it was") {
    for (const int answer : {-EINTR, -EAGAIN}) {
        auto work = write_of(50);
        work.advance(20);
        work.advance(answer);
        CHECK(!work.finished());
        CHECK(work.offset() == 1020);
        work.advance(30);
        CHECK(work.status());
    }
}

TEST_CASE("operation: a transfer that is interrupted without end fails in the end") {
    auto work = write_of(50);
    int calls = 0;
    for (; !work.finished() && calls < 100'000; ++calls) work.advance(-EAGAIN);
    REQUIRE(work.finished());
    CHECK(calls > 10);
    CHECK(work.status().error() == boost::system::errc::resource_unavailable_try_again);
}

TEST_CASE("operation: progress renews the patience with interruptions") {
    auto work = write_of(1000);
    for (int i = 0; i < 999; ++i) {
        for (int k = 0; k < 50; ++k) work.advance(-EINTR);
        work.advance(1);
    }
    REQUIRE(!work.finished());
    work.advance(1);
    CHECK(work.status());
}

TEST_CASE("operation: a read that meets the end of the file gives what it had") {
    auto work = operation::read(nullptr, 3, 0, 50);
    work.advance(20);
    work.advance(0);
    REQUIRE(work.finished());
    CHECK(std::move(work).bytes().value().size() == 20);
}

TEST_CASE("operation: a write that moves nothing is an error, not a loop") {
    auto work = write_of(50);
    work.advance(0);
    REQUIRE(work.finished());
    CHECK(work.status().error() == boost::system::errc::io_error);
}

TEST_CASE("operation: pieces are written one behind the other, as many in a call as it takes") {
    std::vector<buffer> pieces;
    for (const std::size_t size : {30U, 0U, 20U, 50U}) pieces.push_back(buffer::allocate(size));
    auto work = operation::write(nullptr, 3, 1000, pieces);
    REQUIRE(work.vector().size() == 4);
    CHECK(work.size() == 30);
    work.advance(40);  // into the third
    REQUIRE(work.vector().size() == 2);
    CHECK(work.vector()[0].iov_base == pieces[2].data() + 10);
    CHECK(work.vector()[0].iov_len == 10);
    CHECK(work.data() == pieces[2].data() + 10);
    CHECK(work.offset() == 1040);
    work.advance(60);
    CHECK(work.status());
}

TEST_CASE("operation: one call takes no more pieces than the kernel does") {
    const std::vector<buffer> pieces(3000, buffer::allocate(1));
    auto work = operation::write(nullptr, 3, 0, pieces);
    CHECK(work.vector().size() == 1024);
    for (const int count : {1024, 1024, 952}) work.advance(count);
    CHECK(work.status());
}

TEST_CASE("operation: an error ends it, whatever was moved before") {
    auto work = write_of(50);
    work.advance(20);
    work.advance(-ENOSPC);
    REQUIRE(work.finished());
    CHECK(work.status().error() == errc::no_space);
}

TEST_CASE("operation: whatever a sync answers is final") {
    for (const int answer : {-EINTR, -EAGAIN, -EIO}) {
        auto work = operation::sync(nullptr, 3, {});
        work.advance(answer);
        REQUIRE(work.finished());
        CHECK(!work.status());
    }
    auto work = operation::sync(nullptr, 3, {});
    work.advance(0);
    CHECK(work.status());
}

TEST_CASE("operation: no bytes need no call") {
    CHECK(operation::read(nullptr, 3, 0, 0).finished());
    CHECK(operation::write(nullptr, 3, 0, {}).finished());
    CHECK(!operation::sync(nullptr, 3, {}).finished());
}

TEST_CASE("operation: a call stays below what one system call moves") {
    // Untouched pages of the buffer cost nothing.
    auto work = operation::read(nullptr, 3, 0, std::size_t{3} << 30);
    CHECK(work.size() == 1U << 30);
    for (int i = 0; i < 3; ++i) work.advance(1 << 30);
    CHECK(work.finished());
}

TEST_CASE("operation: keeps its owner until it goes") {
    const auto owner = std::make_shared<const int>(0);
    {
        auto work = operation::sync(owner, 3, {});
        const auto moved = std::move(work);
        CHECK(owner.use_count() == 2);
    }
    CHECK(owner.use_count() == 1);
}

}  // namespace
}  // namespace cairn
