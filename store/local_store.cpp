#include "store/local_store.hpp"

#include "runtime/check.hpp"
#include "runtime/log.hpp"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

// The part of the blob that a range asks for, cut at the end.
result<byte_range> clipped(byte_range range, std::uint64_t size_bytes) {
    const bool whole_of_nothing = size_bytes == 0 && range.offset == 0;
    if (range.offset >= size_bytes && !whole_of_nothing) return errc::out_of_range;
    return byte_range{range.offset, std::min(range.size_bytes, size_bytes - range.offset)};
}

std::unique_ptr<source> part_of_value(const row& blob, byte_range part) {
    return std::make_unique<buffer_source>(blob.value.slice(part.offset, part.size_bytes));
}

bool value_is_good(const row& read) {
    return checksums::of(read.value.view()).digest() == read.checksums_digest;
}

bool bytes_are_bad(const error_code& ec) noexcept {
    return ec == errc::corrupt || ec == errc::absent;
}

class one_more {
public:
    explicit one_more(std::atomic<std::size_t>& of) : of_(of) { ++of_; }
    ~one_more() { --of_; }
    one_more(const one_more&) = delete;
    one_more& operator=(const one_more&) = delete;

private:
    std::atomic<std::size_t>& of_;
};

}  // namespace

// A stored blob on its way out: when its bytes turn out bad, the blob is quarantined.
class local_store::checked_source final : public source {
public:
    checked_source(local_store& owner, row_ptr of, std::unique_ptr<source> inner)
        : owner_(owner), of_(std::move(of)), inner_(std::move(inner)) {}

    std::optional<std::uint64_t> size() const override { return inner_->size(); }
    std::optional<file_range> file() const override { return inner_->file(); }

    awaitable<result<buffer>> next() override {
        auto window = co_await inner_->next();
        if (window || !bytes_are_bad(window.error())) co_return window;
        auto quarantined = co_await owner_.suspect(of_, window.error().message());
        const bool was_removed = window.error() == errc::absent && quarantined && !*quarantined;
        co_return error_code(was_removed ? errc::vanished : errc::corrupt);
    }

private:
    local_store& owner_;
    const row_ptr of_;
    const std::unique_ptr<source> inner_;
};

local_store::local_store(runtime& threads, parts engines, local_store_options options)
    : options_(options),
      engines_(std::move(engines)),
      cache_(options.cache_bytes),
      created_(threads.metrics().get_counter(
          "cairn_puts_total", "Puts answered", {{"outcome", "created"}})),
      present_(threads.metrics().get_counter(
          "cairn_puts_total", "Puts answered", {{"outcome", "present"}})),
      reads_(threads.metrics().get_counter("cairn_gets_total", "Blobs opened for reading")),
      misses_(threads.metrics().get_counter("cairn_row_cache_misses_total",
                                            "Look-ups that had to ask the catalog")),
      removals_(threads.metrics().get_counter("cairn_removals_total", "Blobs removed")),
      quarantines_(threads.metrics().get_counter("cairn_quarantines_total",
                                                 "Blobs whose stored bytes failed a check")),
      cache_gauge_(threads.metrics().add_gauge(
          "cairn_row_cache_bytes", "Memory of cached rows and inline values", [this] {
              return static_cast<double>(cache_.size_bytes());
          })) {
    if (!engines_.bulk) return;
    reclaimer_ = std::make_unique<reclaimer>(threads.next().get_executor(), *engines_.catalog,
                                             *engines_.bulk, *engines_.stop);
    compactor::surroundings around{*engines_.catalog,
                                   *engines_.bulk,
                                   cache_,
                                   *engines_.stop,
                                   [this] { return feel(); },
                                   [this](row_ptr bad, std::string reason) {
                                       return suspect(std::move(bad), std::move(reason));
                                   },
                                   [this](const applied& done) { note(done); }};
    compactor_ = std::make_unique<compactor>(threads.next().get_executor(), threads.metrics(),
                                             std::move(around), options_.compaction);
}

awaitable<std::unique_ptr<local_store>> local_store::open(runtime& threads,
                                                          parts engines,
                                                          local_store_options options) {
    std::unique_ptr<local_store> made(new local_store(threads, std::move(engines), options));
    if (made->reclaimer_) co_await made->reclaimer_->start();
    if (made->compactor_) co_await made->compactor_->start();
    co_return made;
}

local_store::~local_store() = default;

awaitable<result<receipt>> local_store::put(source& body, std::optional<blob_id> claim) {
    if (auto running = engines_.stop->check(); !running) co_return running.error();
    const auto announced = body.size();
    if (announced && *announced > options_.blob_bytes_max) co_return errc::too_large;
    intake in(body, claim, options_.blob_bytes_max);
    auto small = co_await in.whole_within(options_.inline_bytes_max);
    if (!small) co_return small.error();
    if (*small) co_return co_await put_inline(in, std::move(**small));
    if (!engines_.bulk) co_return errc::too_large;
    if (!claim) co_return co_await put_bulk(in);
    auto standing = co_await look_up(*claim);
    if (!standing) co_return standing.error();
    const bool present = *standing && !(*standing)->quarantined;
    if (present) co_return co_await put_again(in, *claim);
    co_return co_await put_bulk(in);
}

// Asks the cache alone: the writer finds out the same for less than a look-up would cost.
awaitable<result<receipt>> local_store::put_inline(const intake& body, buffer value) {
    if (const auto standing = cache_.find(body.id())) {
        present_.add();
        co_return receipt{body.id(), body.size_bytes(), false, options_.kept};
    }
    put_blob what;
    what.id = body.id();
    what.size_bytes = body.size_bytes();
    what.checksums_digest = body.sums().digest();
    what.value = std::move(value);
    co_return co_await publish(std::move(what));
}

// The blob is there, so its body is checked and dropped. It may go while the body arrives, for
// minutes; so the answer is that of a look-up after the last byte (SAFETY.md R1.4).
awaitable<result<receipt>> local_store::put_again(intake& body, blob_id id) {
    auto drained = co_await body.drain();
    if (!drained) co_return drained.error();
    auto standing = co_await look_up(id);
    if (!standing) co_return standing.error();
    if (!*standing || (*standing)->quarantined) co_return errc::vanished;
    auto confirmed = co_await engines_.catalog->confirm();
    if (!confirmed) co_return confirmed.error();
    present_.add();
    co_return receipt{id, body.size_bytes(), false, options_.kept};
}

// Counted, since compaction makes way for puts, but not when there is no room.
awaitable<result<receipt>> local_store::put_bulk(intake& body) {
    const one_more counted(bulk_puts_);
    auto done = co_await write_and_publish(body);
    if (done || done.error() == errc::no_space) is_short_of_space_ = !done;
    co_return done;
}

awaitable<result<receipt>> local_store::write_and_publish(intake& body) {
    auto written = co_await engines_.bulk->write(body);
    if (!written) co_return written.error();
    const std::unique_ptr<draft> bytes = std::move(*written);
    put_blob what;
    what.id = body.id();
    what.size_bytes = body.size_bytes();
    what.checksums_digest = bytes->stored().checksums_digest;
    what.where = bytes->stored().at;
    what.alone = bytes->alone();
    auto published = co_await publish(std::move(what), bytes.get());
    if (published || published.error() == errc::outcome_unknown) co_return published;
    auto withdrawn = co_await bytes->withdraw();
    if (!withdrawn) co_return error_code(errc::outcome_unknown);
    co_return published;
}

awaitable<result<receipt>> local_store::publish(put_blob what, draft* bytes) {
    auto fresh = std::make_shared<row>();
    fresh->id = what.id;
    fresh->size_bytes = what.size_bytes;
    fresh->where = what.where;
    fresh->value = what.value;
    fresh->checksums_digest = what.checksums_digest;
    const std::uint64_t epoch = cache_.epoch(what.id);
    change put(std::move(what));
    auto done = co_await engines_.catalog->commit(std::move(put));
    // At once: what fails from here on does not undo it.
    if (bytes != nullptr && done) bytes->decide();
    if (bytes != nullptr && !done && done.error() == errc::outcome_unknown) bytes->leave();
    if (!done) co_return done.error();
    note(*done);
    (done->changed ? created_ : present_).add();
    const receipt answer{fresh->id, fresh->size_bytes, done->changed, options_.kept};
    if (!done->changed) {
        // The standing row may be of another inline limit; its value did not come along.
        if (done->standing->where.has_value() != fresh->where.has_value()) co_return answer;
        fresh->where = done->standing->where;
    }
    cache_.insert(std::move(fresh), epoch);
    co_return answer;
}

awaitable<result<std::unique_ptr<source>>> local_store::get(blob_id id, byte_range range) {
    if (auto running = engines_.stop->check(); !running) co_return running.error();
    auto found = co_await look_up(id);
    if (!found) co_return found.error();
    const row_ptr blob = std::move(*found);
    if (!blob) co_return std::unique_ptr<source>();
    if (blob->quarantined) co_return error_code(errc::quarantined);
    const auto part = clipped(range, blob->size_bytes);
    if (!part) co_return part.error();
    reads_.add();
    if (!blob->where) co_return part_of_value(*blob, *part);
    co_return co_await open_bulk(blob, *part);
}

// Bytes that are gone or bad may only mean that the blob was removed or healed since its row was
// read: looked up again until the row repeats the locator that failed (SAFETY.md R4.3).
awaitable<result<std::unique_ptr<source>>> local_store::open_bulk(row_ptr of, byte_range range) {
    while (true) {
        auto opened = co_await engines_.bulk->read(of->stored(), range);
        if (opened) {
            co_return std::make_unique<checked_source>(*this, std::move(of), std::move(*opened));
        }
        if (!bytes_are_bad(opened.error())) co_return opened.error();
        auto again = co_await look_up_fresh(of->id);
        if (!again) co_return again.error();
        if (!*again) co_return std::unique_ptr<source>();
        if ((*again)->quarantined) co_return error_code(errc::quarantined);
        if ((*again)->where == of->where) {
            auto quarantined = co_await suspect(of, opened.error().message());
            if (!quarantined) co_return quarantined.error();
            if (*quarantined) co_return error_code(errc::quarantined);
        }
        of = std::move(*again);
        if (!of->where) co_return part_of_value(*of, range);
    }
}

awaitable<result<std::optional<lease>>> local_store::hold(blob_id id) {
    if (auto running = engines_.stop->check(); !running) co_return running.error();
    auto found = co_await look_up(id);
    if (!found) co_return found.error();
    std::optional<lease> held;
    if (!*found || (*found)->quarantined) co_return held;
    auto confirmed = co_await engines_.catalog->confirm();
    if (!confirmed) co_return confirmed.error();
    held = lease{(*found)->size_bytes};
    co_return held;
}

awaitable<result<std::vector<listed_blob>>> local_store::list(std::optional<blob_id> after,
                                                              std::size_t limit) {
    if (auto running = engines_.stop->check(); !running) co_return running.error();
    auto rows = co_await engines_.catalog->list(after, limit);
    if (!rows) co_return rows.error();
    std::vector<listed_blob> page;
    page.reserve(rows->size());
    for (const row& each : *rows) page.push_back({each.id, each.size_bytes});
    co_return page;
}

awaitable<result<bool>> local_store::remove(blob_id id) {
    if (auto running = engines_.stop->check(); !running) co_return failed_bool(running.error());
    const row_cache::leaving leaving(cache_, id);
    const change removal = remove_blob{id};
    auto done = co_await engines_.catalog->commit(removal);
    if (!done) co_return failed_bool(done.error());
    note(*done);
    if (done->changed) removals_.add();
    co_return done->changed;
}

awaitable<result<store_status>> local_store::status() {
    store_status now;
    now.catalog = engines_.catalog->name();
    now.bulk = engines_.bulk ? engines_.bulk->name() : "none";
    now.kept = options_.kept;
    now.boot = engines_.catalog->boot();
    now.stopped = engines_.stop->description();
    if (engines_.stop->tripped()) co_return now;
    auto counts = co_await engines_.catalog->count();
    if (!counts) co_return counts.error();
    now.blob_count = counts->blob_count;
    now.blob_bytes = counts->blob_bytes;
    now.bulk_live_bytes = counts->live_bytes;
    now.bulk_dead_bytes = counts->end_bytes - counts->live_bytes;
    now.segment_count = counts->segment_count;
    now.reclaim_count = counts->reclaim_count;
    now.quarantined_count = counts->quarantined_count;
    auto details = co_await engines_.catalog->details();
    if (!details) co_return details.error();
    now.details = std::move(*details);
    co_return now;
}

awaitable<result<backup>> local_store::back_up() {
    if (auto running = engines_.stop->check(); !running) co_return running.error();
    if (!engines_.backups) co_return error_code(errc::unsupported);
    co_return co_await engines_.backups->make();
}

awaitable<void> local_store::close() {
    if (engines_.backups) co_await engines_.backups->close();
    if (compactor_) co_await compactor_->close();
    if (reclaimer_) co_await reclaimer_->close();
    if (engines_.bulk) co_await engines_.bulk->close();
    co_await engines_.catalog->close();
}

awaitable<result<local_store::row_ptr>> local_store::look_up(blob_id id) {
    if (auto known = cache_.find(id)) co_return known;
    misses_.add();
    co_return co_await look_up_fresh(id);
}

awaitable<result<local_store::row_ptr>> local_store::look_up_fresh(blob_id id) {
    const std::uint64_t epoch = cache_.epoch(id);
    auto found = co_await engines_.catalog->find(id);
    if (!found) co_return found.error();
    if (!*found) co_return row_ptr();
    auto fresh = std::make_shared<row>(std::move(**found));
    if (fresh->quarantined) co_return fresh;
    if (!fresh->where && !value_is_good(*fresh)) {
        auto quarantined = co_await suspect(fresh, "inline value fails its check");
        if (!quarantined) co_return quarantined.error();
        fresh->quarantined = true;
        co_return fresh;
    }
    cache_.insert(fresh, epoch);
    co_return fresh;
}

// True when this call quarantined it.
awaitable<result<bool>> local_store::suspect(row_ptr bad, std::string reason) {
    const row_cache::leaving leaving(cache_, bad->id);
    const change suspicion = quarantine_blob{bad->id, bad->where, reason};
    auto done = co_await engines_.catalog->commit(suspicion);
    if (!done) {
        log_error("store", "blob {}: {}; not quarantined: {}", bad->id.hex(), reason,
                  done.error().message());
        co_return failed_bool(done.error());
    }
    if (!done->changed) co_return false;  // it was removed, healed or quarantined meanwhile
    quarantines_.add();
    log_error("store", "blob {}: {}; quarantined, put it again to heal it", bad->id.hex(), reason);
    co_return true;
}

void local_store::note(const applied& done) {
    if (done.freed && reclaimer_) reclaimer_->wake();
}

pressure local_store::feel() const noexcept {
    if (is_short_of_space_) return pressure::space;
    return bulk_puts_ > options_.compaction.load_puts ? pressure::load : pressure::none;
}

}  // namespace cairn
