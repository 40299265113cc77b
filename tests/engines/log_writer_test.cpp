// How the ends of records reach the disk: together, no further than they lie, and all or none.
#include "engines/segments/log_writer.hpp"

#include "io/forwarding_files.hpp"
#include "io/memory_file_system.hpp"
#include "runtime/runtime.hpp"
#include "runtime/task_scope.hpp"
#include "tests/support/bodies.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <doctest/doctest.h>
#include <future>
#include <optional>
#include <utility>

namespace cairn {
namespace {

// Notes what is written and synced, and has one place that cannot be written.
class watched_file final : public forwarding_file {
public:
    using forwarding_file::forwarding_file;

    awaitable<result<void>> write_at(std::uint64_t offset, std::vector<buffer> pieces) override {
        writes.emplace_back(offset, pieces.size());
        std::uint64_t end = offset;
        for (const buffer& each : pieces) end += each.size();
        if (offset <= bad_offset && bad_offset < end) co_return error_code(errc::no_space);
        co_return co_await forwarding_file::write_at(offset, std::move(pieces));
    }
    awaitable<result<void>> sync(byte_range written) override {
        syncs.push_back(written);
        return forwarding_file::sync(written);
    }

    std::vector<std::pair<std::uint64_t, std::size_t>> writes;  // offset and count of pieces
    std::vector<byte_range> syncs;
    std::uint64_t bad_offset = UINT64_MAX;
};

class fixture {
public:
    fixture() {
        in = std::make_shared<watched_file>(
            threads.run(files.open("/segment", open_mode::create)).value());
        threads.run(files.sync_directory("/")).value();
        log.emplace(threads.engine().get_executor(), stop);
    }
    ~fixture() { threads.run(log->close()); }

    log_write record(std::uint64_t offset, std::size_t size_bytes) const {
        log_write made;
        made.in = in;
        made.offset = offset;
        made.bytes.push_back(test::random_body(size_bytes, offset));
        made.record = {offset, size_bytes};
        return made;
    }
    // All of them are one batch: the engine's thread is held up until they have come.
    std::vector<result<void>> write(std::vector<log_write> all) {
        std::vector<result<void>> answers(all.size());
        threads.run(write_all(std::move(all), answers));
        return answers;
    }
    std::string bytes(std::uint64_t offset, std::size_t size_bytes) {
        return std::string(threads.run(in->read_at(offset, size_bytes)).value().text());
    }

    runtime threads{{.threads = 1, .blocking_threads = 1}};
    memory_file_system files;
    std::shared_ptr<watched_file> in;
    fail_stop stop;
    std::optional<log_writer> log;

private:
    awaitable<void> write_all(std::vector<log_write> all, std::vector<result<void>>& answers) {
        const executor here = co_await asio::this_coro::executor;
        std::promise<void> all_came;
        asio::post(threads.engine().get_executor(),
                   [come = all_came.get_future().share()] { come.wait(); });
        task_scope callers(here);
        for (std::size_t i = 0; i < all.size(); ++i) {
            callers.spawn(write_one(std::move(all[i]), answers[i]));
        }
        for (int i = 0; i < 3; ++i) co_await asio::post(asio::use_awaitable);
        all_came.set_value();
        co_await callers.join();
    }
    awaitable<void> write_one(log_write what, result<void>& answer) {
        answer = co_await log->write(std::move(what));
    }
};

TEST_CASE("log: records that come together share writes and syncs") {
    fixture log;
    std::vector<log_write> all;
    for (std::uint64_t i = 0; i < 64; ++i) all.push_back(log.record(i * 4096, 4096));
    for (const auto& answer : log.write(std::move(all))) CHECK(answer);
    for (std::uint64_t i = 0; i < 64; ++i) {
        CHECK((log.bytes(i * 4096, 4096) == test::random_body(4096, i * 4096).text()));
    }
    REQUIRE(log.in->writes.size() == 1);
    CHECK(log.in->writes[0].second == 64);
    CHECK(log.in->syncs.size() == 1);
    CHECK(log.log->counts().batches == 1);
}

TEST_CASE("log: records that lie apart are written apart and synced together, all of them") {
    fixture log;
    std::vector<log_write> all;
    for (const std::uint64_t offset : {80U << 10, 16U << 10, 48U << 10, 20U << 10}) {
        all.push_back(log.record(offset, 4096));
    }
    for (const auto& answer : log.write(all)) CHECK(answer);
    CHECK(log.in->writes.size() == 3);
    CHECK(log.in->syncs.size() == 1);
    log.files.crash();
    const auto left = log.threads.run(log.files.open("/segment", open_mode::read)).value();
    for (const log_write& each : all) {
        const auto kept = log.threads.run(left->read_at(each.offset, 4096)).value();
        CHECK((kept.text() == each.bytes.front().text()));
    }
}

TEST_CASE("log: a sync waits for nobody else's bytes") {
    fixture log;
    log.threads.run(log.in->write_at(1 << 20, {test::random_body(4096, 1)})).value();
    log_write end = log.record(12'288, 4096);
    end.record = {8192, 8192};  // whose beginning was written before
    for (const auto& answer : log.write({std::move(end)})) CHECK(answer);
    REQUIRE(log.in->syncs.size() == 1);
    CHECK(log.in->syncs[0].offset == 8192);
    CHECK(log.in->syncs[0].size_bytes == 8192);
}

TEST_CASE("log: what cannot be written fails alone, and the store goes on") {
    fixture log;
    log.in->bad_offset = 5 * 4096 + 7;
    std::vector<log_write> all;
    for (std::uint64_t i = 0; i < 16; ++i) all.push_back(log.record(i * 4096, 4096));
    const auto answers = log.write(std::move(all));
    for (std::size_t i = 0; i < 16; ++i) CHECK(answers[i].has_value() == (i != 5));
    CHECK(answers[5].error() == errc::no_space);
    CHECK(!log.stop.tripped());
}

TEST_CASE("log: after a failed sync nobody is answered, and the store stops (R6)") {
    fixture log;
    fault bad;
    bad.call = file_call::sync;
    log.files.plan().add(bad);
    std::vector<log_write> all;
    for (std::uint64_t i = 0; i < 16; ++i) all.push_back(log.record(i * 4096, 4096));
    for (const auto& answer : log.write(std::move(all))) CHECK(!answer);
    CHECK(log.stop.tripped());
}

}  // namespace
}  // namespace cairn
