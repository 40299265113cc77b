#include "engines/segments/segments.hpp"

#include "engines/segments/record.hpp"
#include "engines/segments/replay.hpp"
#include "engines/segments/scan.hpp"
#include "engines/segments/segment_name.hpp"
#include "runtime/log.hpp"
#include "runtime/task_scope.hpp"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <boost/system/errc.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

bool is_missing_file(const error_code& ec) noexcept {
    return ec == boost::system::errc::no_such_file_or_directory;
}

}  // namespace

class segments::shared_draft final : public draft {
public:
    shared_draft(extent stored, shared_space::reservation place, segments& owner)
        : draft(stored, false), place_(std::move(place)), owner_(owner) {}
    ~shared_draft() override {
        const bool is_settled = decided() || left() || place_.replay_key() == 0;
        if (is_settled || owner_.stop_.tripped()) return;
        const auto place = std::make_shared<shared_space::reservation>(std::move(place_));
        owner_.maker_.run([&owner = owner_, place, at = stored().at]() -> awaitable<void> {
            return owner.withdraw_later(place, at);
        });
    }

    awaitable<result<void>> withdraw() override {
        leave();
        if (place_.replay_key() == 0) co_return result<void>();
        co_return co_await owner_.unmake(place_.in(), stored().at);
    }

private:
    // Undecided space is dead space: a failed COMMIT may turn out durable, so it is never used
    // again.
    shared_space::reservation place_;
    segments& owner_;
};

class segments::own_draft final : public draft {
public:
    own_draft(extent stored, unfinished_segment place)
        : draft(stored, true), place_(std::move(place)) {}
    ~own_draft() override {
        if (decided()) place_.finished();
    }

private:
    unfinished_segment place_;
};

segments::segments(executor home,
                   file_system& files,
                   std::filesystem::path folder,
                   catalog& ledger,
                   fail_stop& stop,
                   segments_options options)
    : home_(home),
      files_(files),
      folder_(folder),
      ledger_(ledger),
      stop_(stop),
      options_(options),
      maker_(home, files, std::move(folder), ledger, stop),
      log_(home, stop),
      shared_(maker_, log_, options.segment_bytes, intake_for::put),
      moved_(maker_, log_, options.segment_bytes, intake_for::move),
      reading_files_(options.open_files_max),
      checks_(options.checks_bytes_max) {}

awaitable<result<std::unique_ptr<segments>>> segments::open(runtime& threads,
                                                            file_system& files,
                                                            std::filesystem::path folder,
                                                            catalog& ledger,
                                                            fail_stop& stop,
                                                            segments_options options) {
    auto folder_made = co_await files.make_directory(folder);
    if (!folder_made) co_return folder_made.error();
    auto folder_kept = co_await files.sync_directory(folder.parent_path());
    if (!folder_kept) co_return folder_kept.error();
    const executor home = threads.engine().get_executor();
    std::unique_ptr<segments> made(
        new segments(home, files, std::move(folder), ledger, stop, options));
    auto recovered = co_await made->recover();
    if (!recovered) {
        co_await made->close();
        co_return recovered.error();
    }
    co_return made;
}

awaitable<result<void>> segments::recover() {
    constexpr std::size_t page = 64;  // at once; each costs a look at one file and a shared commit
    const executor here = co_await asio::this_coro::executor;
    std::uint64_t after = 0;
    error_code lost;
    while (!lost) {
        auto left = co_await ledger_.segments(after, page, true);
        if (!left) co_return left.error();
        task_scope repairs(here);
        for (const segment_row& each : *left) {
            if (each.boot < ledger_.boot()) repairs.spawn(recover_one(each, lost));
            after = each.segment;
        }
        co_await repairs.join();
        if (left->size() < page) break;
    }
    if (lost) co_return lost;
    co_return stop_.check();
}

// Space can wait for the next start. Puts that may have been acknowledged cannot.
awaitable<void> segments::recover_one(segment_row left, error_code& lost) {
    bool holds_puts = left.replay_key != 0;
    auto ended = co_await end(left, holds_puts);
    if (ended || stop_.tripped()) co_return;
    if (holds_puts) {
        lost = ended.error();
        log_error("segments",
                  "{} of boot {} may hold puts that were answered, and cannot be ended: {}. Where "
                  "the disk cannot read it, put a copy in its place that leaves zeros for what is "
                  "unreadable (dd conv=noerror,sync): what lay there is lost, the rest is not",
                  maker_.path_of(left.segment).string(), left.boot, lost.message());
    } else {
        log_warn("segments", "{} of boot {} is left for the next start to seal: {}",
                 segment_name(left.segment), left.boot, ended.error().message());
    }
}

// It ends where the catalog says or, when it is replayed, where its last whole record does. What
// lies behind was never published, and an old process's writes may still arrive there. `holds_puts`
// becomes whether it does, once that is known.
awaitable<result<void>> segments::end(segment_row left, bool& holds_puts) {
    seal_segment sealed{left.segment};
    auto in = co_await maker_.open(left.segment, open_mode::read_write);
    if (!in && !is_missing_file(in.error())) co_return in.error();
    if (!in) {
        holds_puts = false;
        if (left.live_bytes > 0) {
            log_error("segments", "{} holds {} live bytes and is gone", segment_name(left.segment),
                      left.live_bytes);
        }
        co_return co_await maker_.seal_row(std::move(sealed));
    }
    std::uint64_t end_bytes = left.end_bytes;
    if (left.replay_key != 0) {
        auto found = co_await puts_to_replay(*in, left);
        if (!found) co_return found.error();
        sealed.found = std::move(*found);
        holds_puts = !sealed.found.empty();
    }
    if (!sealed.found.empty()) {
        const locator& last = *sealed.found.back().where;
        end_bytes = last.offset + last.length_bytes;
        log_info("segments", "{} of boot {}: {} puts are put again", segment_name(left.segment),
                 left.boot, sealed.found.size());
    }
    co_return co_await maker_.cut_and_seal(std::move(*in), end_bytes, std::move(sealed));
}

awaitable<result<std::unique_ptr<draft>>> segments::write(intake& body) {
    if (auto running = stop_.check(); !running) co_return running.error();
    const auto size_bytes = body.size();
    if (!size_bytes || *size_bytes > options_.shared_record_bytes_max) {
        co_return co_await write_alone(body);
    }
    shared_space& space = body.what() == intake_for::move ? moved_ : shared_;
    auto place = co_await space.reserve(segment_record::length_bytes(*size_bytes));
    if (!place) co_return place.error();
    if (!*place) co_return co_await write_alone(body);
    co_return co_await write_shared(body, std::move(**place));
}

awaitable<segments::draft_result> segments::write_shared(intake& body,
                                                         shared_space::reservation place) {
    const auto patience_ends = std::chrono::steady_clock::now() + options_.reservation_time;
    record_writer writer(place.in(), place.segment(), place.offset());
    while (true) {
        auto window = co_await body.next();
        if (!window) co_return window.error();
        if (window->empty()) break;
        auto added = co_await writer.add(std::move(*window));
        if (!added) co_return added.error();
        if (std::chrono::steady_clock::now() < patience_ends) continue;
        unfinished_segment own(maker_);
        auto in = co_await own.make(0, body.what());
        if (!in) co_return in.error();
        auto moved = co_await writer.move_to(std::move(*in), own.segment(), 0);
        if (!moved) co_return moved.error();
        { const auto given_up = std::move(place); }
        co_return co_await continue_alone(body, std::move(writer), std::move(own));
    }
    record_end end = writer.finish(body, maker_.boot() ^ place.replay_key());
    log_write last;
    last.in = place.in();
    last.offset = end.offset;
    last.bytes = std::move(end.bytes);
    last.record = {place.offset(), end.stored.at.length_bytes};
    auto synced = co_await log_.write(std::move(last));
    if (!synced) co_return synced.error();
    place.keep();
    co_return std::make_unique<shared_draft>(end.stored, std::move(place), *this);
}

awaitable<segments::draft_result> segments::write_alone(intake& body) {
    unfinished_segment own(maker_);
    const auto size_bytes = body.size();
    const std::uint64_t length_bytes = size_bytes ? segment_record::length_bytes(*size_bytes) : 0;
    auto in = co_await own.make(length_bytes, body.what());
    if (!in) co_return in.error();
    record_writer writer(std::move(*in), own.segment(), 0);
    co_return co_await continue_alone(body, std::move(writer), std::move(own));
}

awaitable<segments::draft_result> segments::continue_alone(intake& body,
                                                           record_writer writer,
                                                           unfinished_segment place) {
    while (true) {
        auto window = co_await body.next();
        if (!window) co_return window.error();
        if (window->empty()) break;
        auto added = co_await writer.add(std::move(*window));
        if (!added) co_return added.error();
    }
    record_end end = writer.finish(body, maker_.boot());
    auto written = co_await writer.in()->write_at(end.offset, std::move(end.bytes));
    if (!written) co_return written.error();
    auto synced = co_await maker_.sync(place.segment(), writer.in());
    if (!synced) co_return error_code(errc::outcome_unknown);
    co_return std::make_unique<own_draft>(end.stored, std::move(place));
}

// Without its footer it is no record, and is not put again after a crash. Not when the store is
// stopped: what it is then, nobody knows.
awaitable<result<void>> segments::unmake(file_ptr in, locator at) {
    constexpr std::uint64_t size_bytes = segment_record::block_bytes;
    if (auto running = stop_.check(); !running) co_return running.error();
    log_write footer;
    footer.in = std::move(in);
    footer.offset = at.offset + at.length_bytes - size_bytes;
    footer.bytes.push_back(buffer::copy_of(as_bytes(std::string(size_bytes, '\0'))));
    footer.record = {footer.offset, size_bytes};
    co_return co_await log_.write(std::move(footer));
}

// The place is held meanwhile, so the segment is not sealed, and let go before the job ends, so
// that whoever waits for jobs sees the sealing that follows.
awaitable<void> segments::withdraw_later(std::shared_ptr<shared_space::reservation> place,
                                         locator at) {
    auto unmade = co_await unmake(place->in(), at);
    if (!unmade && !stop_.tripped()) {
        log_warn("segments", "a put that was given up may come back after a crash: {}",
                 unmade.error().message());
    }
    const shared_space::reservation left = std::move(*place);
}

awaitable<result<std::unique_ptr<source>>> segments::read(extent stored, byte_range range) {
    if (auto running = stop_.check(); !running) co_return running.error();
    auto in = co_await reading_file(stored.at.container);
    if (!in) co_return in.error();
    auto checks = co_await checks_of(*in, stored);
    if (!checks) co_return checks.error();
    co_return read_range(std::move(*in), std::move(*checks), range);
}

awaitable<result<segments::file_ptr>> segments::reading_file(std::uint64_t segment) {
    if (auto known = reading_files_.find(segment)) co_return std::move(*known);
    const std::size_t epoch = reading_files_.epoch();
    auto in = co_await maker_.open(segment, open_mode::read);
    if (!in && is_missing_file(in.error())) co_return error_code(errc::absent);
    if (!in) co_return in.error();
    reading_files_.insert(segment, *in, 1, epoch);
    co_return in;
}

awaitable<result<std::shared_ptr<record_checks>>> segments::checks_of(file_ptr from,
                                                                      extent stored) {
    if (auto known = checks_.find(stored.at)) {
        const bool same = (*known)->stored().size_bytes == stored.size_bytes &&
                          (*known)->stored().checksums_digest == stored.checksums_digest;
        if (!same) co_return error_code(errc::corrupt);
        co_return std::move(*known);
    }
    auto loaded = co_await record_checks::load(std::move(from), stored, options_.verify);
    if (!loaded) co_return loaded.error();
    checks_.insert(stored.at, *loaded, (*loaded)->memory_bytes(), checks_.epoch());
    co_return loaded;
}

// Unlink first, then let go of the cached descriptor: in the other order a reader could cache it
// again.
awaitable<result<void>> segments::erase(locator at) {
    auto removed = co_await files_.remove(maker_.path_of(at.container));
    reading_files_.erase(at.container);
    if (!removed) co_return removed.error();
    co_return co_await maker_.sync_folder();
}

awaitable<result<std::vector<found_record>>> segments::scan(locator after,
                                                            std::uint64_t last_container,
                                                            std::size_t limit) {
    return scan_segments(files_, folder_, after, last_container, limit);
}

awaitable<void> segments::close() {
    co_await shared_.close();
    co_await moved_.close();
    co_await maker_.close();
    co_await log_.close();
}

}  // namespace cairn
