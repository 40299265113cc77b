#include "engines/sqlite/transaction.hpp"

#include "engines/checksums.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace cairn::sqlite {
namespace {

constexpr const char* load_sums_sql =
    "SELECT blobs, bytes, next_seq, last_stamp FROM totals WHERE stripe = 0";
constexpr const char* store_sums_sql =
    "UPDATE totals SET generation = ?1, blobs = ?2, bytes = ?3, next_seq = ?4, last_stamp = ?5"
    " WHERE stripe = 0";
constexpr const char* insert_sql =
    "INSERT INTO blobs(seq, id, size, created_at, container, offset, length, checksums, value)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(id) DO NOTHING";
constexpr const char* replace_sql =
    "UPDATE blobs SET container = ?2, offset = ?3, length = ?4, checksums = ?5, value = ?6"
    " WHERE id = ?1";
constexpr const char* remove_sql = "DELETE FROM blobs WHERE id = ?1";
constexpr const char* move_sql =
    "UPDATE blobs SET container = ?2, offset = ?3, length = ?4 WHERE id = ?1";
constexpr const char* quarantine_sql =
    "INSERT INTO quarantine(id, container, offset, length, reason, at)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
constexpr const char* release_sql = "DELETE FROM quarantine WHERE id = ?1";
constexpr const char* has_segment_sql = "SELECT 1 FROM segments WHERE segment = ?1";
constexpr const char* open_segment_sql =
    "INSERT INTO segments(segment, boot, replay_key) VALUES(?1, ?2, ?3)";
constexpr const char* settle_segment_sql =
    "UPDATE segments SET live_bytes = live_bytes + ?2, end_bytes = max(end_bytes, ?3),"
    " sealed = max(sealed, ?4) WHERE segment = ?1";
constexpr const char* reclaim_dead_sql =
    "INSERT INTO reclaim(container, offset, length) SELECT segment, 0, 0 FROM segments"
    " WHERE segment = ?1 AND sealed = 1 AND live_bytes = 0 ON CONFLICT DO NOTHING";
constexpr const char* reclaim_sql =
    "INSERT INTO reclaim(container, offset, length) VALUES(?1, ?2, ?3) ON CONFLICT DO NOTHING";
constexpr const char* forget_sql =
    "DELETE FROM reclaim WHERE container = ?1 AND offset = ?2 AND length = ?3";
constexpr const char* forget_segment_sql =
    "DELETE FROM segments WHERE segment = ?1 AND sealed = 1 AND live_bytes = 0";

std::int64_t signed_of(std::uint64_t value) noexcept { return static_cast<std::int64_t>(value); }

std::int64_t now_us() noexcept {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

void bind_locator(statement& to, int first, const std::optional<locator>& at) {
    if (!at) {
        to.bind_null(first).bind_null(first + 1).bind_null(first + 2);
        return;
    }
    to.bind(first, signed_of(at->container));
    to.bind(first + 1, signed_of(at->offset));
    to.bind(first + 2, signed_of(at->length_bytes));
}

void bind_value(statement& to, int parameter, const put_blob& put) {
    if (put.where) {
        to.bind_null(parameter);
    } else {
        to.bind(parameter, put.value.view());
    }
}

}  // namespace

result<transaction> transaction::prepare(database& connection, std::uint64_t boot) {
    auto reader = row_reader::prepare(connection);
    if (!reader) return reader.error();
    transaction made(connection, boot, std::move(*reader));
    const std::pair<statement*, const char*> list[] = {
        {&made.begin_, "BEGIN IMMEDIATE"},
        {&made.commit_, "COMMIT"},
        {&made.rollback_, "ROLLBACK"},
        {&made.load_sums_, load_sums_sql},
        {&made.store_sums_, store_sums_sql},
        {&made.insert_, insert_sql},
        {&made.replace_, replace_sql},
        {&made.remove_, remove_sql},
        {&made.move_, move_sql},
        {&made.quarantine_, quarantine_sql},
        {&made.release_, release_sql},
        {&made.has_segment_, has_segment_sql},
        {&made.open_segment_, open_segment_sql},
        {&made.settle_segment_, settle_segment_sql},
        {&made.reclaim_dead_, reclaim_dead_sql},
        {&made.reclaim_, reclaim_sql},
        {&made.forget_, forget_sql},
        {&made.forget_segment_, forget_segment_sql},
    };
    for (const auto& [slot, sql] : list) {
        auto prepared = connection.prepare(sql);
        if (!prepared) return prepared.error();
        *slot = std::move(*prepared);
    }
    return made;
}

result<void> transaction::begin() {
    touched_.clear();
    freed_ = false;
    if (auto ok = begin_.run(); !ok) return ok.error();
    const reset_guard reset(load_sums_);
    auto found = load_sums_.step();
    if (!found) return found.error();
    if (!*found) return errc::corrupt;
    sums_ = {load_sums_.integer(0), load_sums_.integer(1), load_sums_.integer(2),
             std::max(load_sums_.integer(3), now_us())};
    return {};
}

result<applied> transaction::apply(const change& what) {
    return std::visit([this](const auto& each) { return apply_one(each); }, what);
}

result<void> transaction::settle() {
    for (const auto& [segment, batch] : touched_) {
        if (!batch.known) continue;
        if (auto ok = settle_segment(segment, batch); !ok) return ok.error();
    }
    return store_sums_.bind(1, signed_of(boot_))
        .bind(2, sums_.blobs)
        .bind(3, sums_.bytes)
        .bind(4, sums_.next_seq)
        .bind(5, sums_.last_stamp_us)
        .run();
}

result<void> transaction::commit() { return commit_.run(); }

bool transaction::rollback() noexcept {
    // Some errors roll back by themselves (sqlite3_get_autocommit says so).
    if (connection_->in_transaction()) (void)rollback_.run();
    return !connection_->in_transaction();
}

result<applied> transaction::apply_one(const put_blob& put) {
    auto inserted = insert_row(put);
    if (!inserted) return inserted.error();
    if (!*inserted) {
        auto standing = reader_.find(put.id);
        if (!standing) return standing.error();
        if (!*standing) return errc::corrupt;  // the conflict was with a row that is not there
        return put_beside(put, std::move(**standing));
    }
    ++sums_.blobs;
    sums_.bytes += signed_of(put.size_bytes);
    ++sums_.next_seq;
    if (auto ok = add_bytes(put); !ok) return ok.error();
    return applied{.changed = true, .freed = false, .standing = {}};
}

result<bool> transaction::insert_row(const put_blob& put) {
    insert_.bind(1, sums_.next_seq)
        .bind(2, put.id.view())
        .bind(3, signed_of(put.size_bytes))
        .bind(4, sums_.last_stamp_us)
        .bind(8, signed_of(put.checksums_digest));
    bind_locator(insert_, 5, put.where);
    bind_value(insert_, 9, put);
    if (auto ok = insert_.run(); !ok) return failed_bool(ok.error());
    return connection_->changes() == 1;
}

result<applied> transaction::put_beside(const put_blob& put, row standing) {
    if (standing.quarantined) return heal(put, standing);
    const bool own = put.where && standing.where == put.where;
    if (!own) {
        if (auto ok = drop_loser(put); !ok) return ok.error();
    }
    standing.value = buffer();
    return applied{.changed = own, .freed = false, .standing = std::move(standing)};
}

result<applied> transaction::heal(const put_blob& put, const row& standing) {
    replace_.bind(1, put.id.view()).bind(5, signed_of(put.checksums_digest));
    bind_locator(replace_, 2, put.where);
    bind_value(replace_, 6, put);
    if (auto ok = replace_.run(); !ok) return ok.error();
    if (auto ok = release_.bind(1, put.id.view()).run(); !ok) return ok.error();
    if (auto ok = add_bytes(put); !ok) return ok.error();
    if (standing.where) {
        if (auto ok = drop_bytes(*standing.where); !ok) return ok.error();
    }
    return applied{.changed = true, .freed = false, .standing = {}};
}

result<applied> transaction::apply_one(const remove_blob& removal) {
    auto standing = reader_.find(removal.id);
    if (!standing) return standing.error();
    if (!*standing) return applied{};
    const row& gone = **standing;
    if (auto ok = remove_.bind(1, removal.id.view()).run(); !ok) return ok.error();
    if (gone.quarantined) {
        if (auto ok = release_.bind(1, removal.id.view()).run(); !ok) return ok.error();
    }
    --sums_.blobs;
    sums_.bytes -= signed_of(gone.size_bytes);
    if (gone.where) {
        if (auto ok = drop_bytes(*gone.where); !ok) return ok.error();
    }
    return applied{.changed = true, .freed = false, .standing = {}};
}

result<applied> transaction::apply_one(const move_blob& move) {
    auto standing = reader_.find(move.id);
    if (!standing) return standing.error();
    const auto stands_at = [&](const locator& at) { return *standing && (*standing)->where == at; };
    if (stands_at(move.to)) return applied{.changed = true, .freed = false, .standing = {}};
    put_blob copy;
    copy.where = move.to;
    copy.alone = move.alone;
    if (!stands_at(move.from) || (*standing)->quarantined) {
        if (auto ok = drop_loser(copy); !ok) return ok.error();
        return applied{};
    }
    move_.bind(1, move.id.view());
    bind_locator(move_, 2, move.to);
    if (auto ok = move_.run(); !ok) return ok.error();
    if (auto ok = add_bytes(copy); !ok) return ok.error();
    if (auto ok = drop_bytes(move.from); !ok) return ok.error();
    return applied{.changed = true, .freed = false, .standing = {}};
}

result<applied> transaction::apply_one(const quarantine_blob& suspect) {
    auto standing = reader_.find(suspect.id);
    if (!standing) return standing.error();
    if (!*standing) return applied{};
    const row& found = **standing;
    if (found.quarantined || found.where != suspect.failed_at) return applied{};
    const bool inline_and_good =
        !found.where && checksums::of(found.value.view()).digest() == found.checksums_digest;
    if (inline_and_good) return applied{};
    quarantine_.bind(1, suspect.id.view())
        .bind(5, std::string_view(suspect.reason))
        .bind(6, sums_.last_stamp_us);
    bind_locator(quarantine_, 2, suspect.failed_at);
    if (auto ok = quarantine_.run(); !ok) return ok.error();
    return applied{.changed = true, .freed = false, .standing = {}};
}

result<applied> transaction::apply_one(const open_segment& opened) {
    open_segment_.bind(1, signed_of(opened.segment))
        .bind(2, signed_of(boot_))
        .bind(3, signed_of(opened.replay_key));
    if (auto ok = open_segment_.run(); !ok) return ok.error();
    // What the batch said of it before concerned a segment that was not there.
    touched_[opened.segment] = touched{.known = true};
    return applied{.changed = true, .freed = false, .standing = {}};
}

result<applied> transaction::apply_one(const seal_segment& sealed) {
    for (const put_blob& each : sealed.found) {
        if (auto put = apply_one(each); !put) return put.error();
    }
    auto batch = touch(sealed.segment);
    if (!batch) return batch.error();
    (*batch)->sealed = true;
    return applied{.changed = (*batch)->known, .freed = false, .standing = {}};
}

result<applied> transaction::apply_one(const forget_locator& gone) {
    forget_.bind(1, signed_of(gone.at.container))
        .bind(2, signed_of(gone.at.offset))
        .bind(3, signed_of(gone.at.length_bytes));
    if (auto ok = forget_.run(); !ok) return ok.error();
    const bool changed = connection_->changes() == 1;
    const bool whole = gone.at.offset == 0 && gone.at.length_bytes == 0;
    if (whole) {
        forget_segment_.bind(1, signed_of(gone.at.container));
        if (auto ok = forget_segment_.run(); !ok) return ok.error();
        touched_.erase(gone.at.container);
    }
    return applied{.changed = changed, .freed = false, .standing = {}};
}

result<transaction::touched*> transaction::touch(std::uint64_t container) {
    const auto [found, is_new] = touched_.try_emplace(container);
    if (is_new) {
        const reset_guard reset(has_segment_);
        auto known = has_segment_.bind(1, signed_of(container)).step();
        if (!known) return known.error();
        found->second.known = *known;
    }
    return &found->second;
}

result<void> transaction::add_bytes(const put_blob& put) {
    if (!put.where) return {};
    auto batch = touch(put.where->container);
    if (!batch) return batch.error();
    (*batch)->live_bytes += signed_of(put.where->length_bytes);
    (*batch)->pass(put);
    return {};
}

result<void> transaction::drop_bytes(const locator& at) {
    auto batch = touch(at.container);
    if (!batch) return batch.error();
    if (!(*batch)->known) return reclaim(at);
    (*batch)->live_bytes -= signed_of(at.length_bytes);
    return {};
}

// The loser's record in a shared segment was never counted as live, so it is dead space already.
result<void> transaction::drop_loser(const put_blob& put) {
    if (!put.where) return {};
    auto batch = touch(put.where->container);
    if (!batch) return batch.error();
    if (!(*batch)->known) return reclaim(*put.where);
    (*batch)->pass(put);
    return {};
}

void transaction::touched::pass(const put_blob& put) noexcept {
    end_bytes = std::max(end_bytes, put.where->offset + put.where->length_bytes);
    sealed = sealed || put.alone;
}

result<void> transaction::reclaim(const locator& at) {
    freed_ = true;
    bind_locator(reclaim_, 1, at);
    return reclaim_.run();
}

result<void> transaction::settle_segment(std::uint64_t segment, const touched& batch) {
    settle_segment_.bind(1, signed_of(segment))
        .bind(2, batch.live_bytes)
        .bind(3, signed_of(batch.end_bytes))
        .bind(4, std::int64_t{batch.sealed});
    if (auto ok = settle_segment_.run(); !ok) return ok.error();
    const bool may_be_dead = batch.sealed || batch.live_bytes < 0;
    if (!may_be_dead) return {};
    if (auto ok = reclaim_dead_.bind(1, signed_of(segment)).run(); !ok) return ok.error();
    freed_ = freed_ || connection_->changes() > 0;
    return {};
}

}  // namespace cairn::sqlite
