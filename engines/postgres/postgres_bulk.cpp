#include "engines/postgres/postgres_bulk.hpp"

#include "engines/postgres/chunk_source.hpp"
#include "engines/postgres/sql_error.hpp"
#include "engines/postgres/stored_row.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cairn {

using namespace postgres;

namespace {

constexpr statement read_sums{
    "read_sums",
    "SELECT string_agg(checksums, ''::bytea ORDER BY part) FROM cairn.chunks"
    " WHERE container = $1::bigint"};
constexpr statement claim_bytes{"claim_bytes",
                                "SELECT cairn.claim_bytes($1::bigint, $2::bigint, $3::bigint)"};
constexpr statement sweep_bytes{
    "sweep_bytes", "SELECT cairn.sweep_bytes($1::bigint, $2::bigint, $3::bigint, $4::bigint)"};
constexpr statement scan_whole{
    "scan_whole",
    "SELECT container, trailer FROM cairn.chunks WHERE trailer IS NOT NULL"
    " AND container > $1::bigint AND container <= $2::bigint ORDER BY container LIMIT $3::bigint"};

constexpr std::size_t write_budget_bytes = 64 << 20;
constexpr std::size_t read_budget_bytes = 64 << 20;
constexpr std::size_t sums_cache_bytes = 16 << 20;

// 16 MiB: far under the two seconds that a transaction may take.
constexpr std::int64_t sweep_chunks = 64;
constexpr std::int64_t sweep_patience_us = 60'000'000;

}  // namespace

class postgres_bulk::upload_draft final : public draft {
public:
    upload_draft(extent stored, std::unique_ptr<uploads::living> kept)
        : draft(stored, true), kept_(std::move(kept)) {}

private:
    // Undecided, its time runs out unrenewed, and a sweeper comes.
    const std::unique_ptr<uploads::living> kept_;
};

postgres_bulk::postgres_bulk(database& in, chunk_place place)
    : in_(in),
      place_(place),
      write_budget_(write_budget_bytes),
      read_budget_(read_budget_bytes),
      uploads_(in),
      sums_(sums_cache_bytes) {}

awaitable<std::unique_ptr<postgres_bulk>> postgres_bulk::open(database& in, chunk_place place) {
    std::unique_ptr<postgres_bulk> made(new postgres_bulk(in, place));
    co_await made->uploads_.start();
    co_return made;
}

std::string postgres_bulk::name() const {
    return place_ == chunk_place::row ? "chunks" : "large_objects";
}

awaitable<result<std::unique_ptr<draft>>> postgres_bulk::write(intake& body) {
    auto kept = std::make_unique<uploads::living>(uploads_, uploads_.next_container());
    upload to(in_, write_budget_, kept->container(), place_);
    while (true) {
        auto window = co_await body.next();
        if (!window) co_return window.error();
        if (window->empty()) break;
        auto added = co_await to.add(window->view());
        if (!added) co_return added.error();
    }
    const trailer end{body.id(), body.size_bytes(), body.sums().digest()};
    auto finished = co_await to.finish(end);
    if (!finished) co_return finished.error();
    const extent stored{{kept->container(), 0, 0}, end.size_bytes, end.checksums_digest};
    co_return std::make_unique<upload_draft>(stored, std::move(kept));
}

awaitable<result<std::unique_ptr<source>>> postgres_bulk::read(extent stored, byte_range range) {
    auto sums = co_await sums_of(stored);
    if (!sums) co_return sums.error();
    if (range.size_bytes == 0) co_return std::make_unique<buffer_source>(buffer());
    co_return std::make_unique<chunk_source>(in_, read_budget_, stored, *sums, range);
}

awaitable<result<postgres_bulk::sums_ptr>> postgres_bulk::sums_of(extent stored) {
    const std::uint64_t container = stored.at.container;
    const std::size_t epoch = sums_.epoch();
    sums_ptr sums;
    if (auto known = sums_.find(container)) {
        sums = std::move(*known);
    } else {
        parameters with;
        with.add(signed_of(container));
        segment query(read_sums, std::move(with));
        auto answered = co_await in_.read(container, std::move(query));
        if (!answered && is_damage(answered.error())) co_return error_code(errc::corrupt);
        if (!answered) co_return answered.error();
        const rows& found = answered->at(0);
        if (found.is_null(0, 0)) co_return error_code(errc::absent);
        sums = std::make_shared<checksums>(checksums::decode(found.bytes(0, 0)));
        sums_.insert(container, sums, sums->encoded().size() + sizeof(checksums), epoch);
    }
    const bool is_ours = sums->digest() == stored.checksums_digest &&
                         sums->count() == checksums::count_for(stored.size_bytes);
    if (!is_ours) co_return error_code(errc::corrupt);
    co_return sums;
}

awaitable<result<void>> postgres_bulk::erase(locator at) {
    if (at.offset != 0 || at.length_bytes != 0) co_return result<void>();
    sums_.erase(at.container);
    const std::int64_t boot = signed_of(in_.boot());
    const std::int64_t container = signed_of(at.container);
    lane& over = in_.bytes(at.container);
    const lane::writing claim = [&](segment& to) {
        parameters with;
        with.add(boot).add(container).add(sweep_patience_us);
        to.add(claim_bytes, std::move(with));
    };
    auto claimed = co_await over.transact(claim);
    if (!claimed) co_return claimed.error();
    if (!claimed->at(0).boolean(0, 0)) co_return result<void>();
    const lane::writing sweep = [&](segment& to) {
        parameters with;
        with.add(boot).add(container).add(sweep_chunks).add(sweep_patience_us);
        to.add(sweep_bytes, std::move(with));
    };
    while (true) {
        auto swept = co_await over.transact(sweep);
        if (!swept) co_return swept.error();
        if (swept->at(0).boolean(0, 0)) co_return result<void>();
    }
}

awaitable<result<std::vector<found_record>>> postgres_bulk::scan(locator after,
                                                                 std::uint64_t last_container,
                                                                 std::size_t limit) {
    const std::uint64_t last = std::min<std::uint64_t>(last_container, INT64_MAX);
    parameters with;
    with.add(signed_of(after.container)).add(signed_of(last));
    with.add(static_cast<std::int64_t>(std::min<std::size_t>(limit, INT64_MAX)));
    segment query(scan_whole, std::move(with));
    auto answered = co_await in_.read(0, std::move(query));
    if (!answered) co_return answered.error();
    const rows& page = answered->at(0);
    std::vector<found_record> found;
    for (std::size_t i = 0; i < page.size(); ++i) {
        const auto end = trailer::decode(page.bytes(i, 1));
        if (!end) co_return error_code(errc::corrupt);
        const locator at{unsigned_of(page.integer(i, 0)), 0, 0};
        found.push_back({end->id, {at, end->size_bytes, end->checksums_digest}});
    }
    co_return found;
}

awaitable<void> postgres_bulk::close() { co_await uploads_.close(); }

}  // namespace cairn
