#include "engines/postgres/migrations.hpp"

#include "runtime/check.hpp"

namespace cairn::postgres {
namespace {

// Offsets, sizes and numbers are unsigned 64-bit in cairn and the same bits, signed, here. Leases,
// names, the feed and the operations are filled by later parts of the design; their tables are
// here so that a store needs no migration for them.
//
// Storage. `lz4` costs nothing measurable on random bytes and saves 3 to 5 times on others
// (LIMITS.md C); where the server was built without it, its default stays. A `totals` row is
// updated by every batch: a page of its own for each few keeps those updates inside the page (HOT).
//
// Autovacuum. `reclaim` and `totals` are small and churn, so they are vacuumed at a fixed number of
// dead rows. `blobs` and `chunks` grow for years, where the default of a fifth of the table would
// come too late; insert-only tables need it for the visibility map and for freezing in time.
constexpr const char* format_1[] = {
    // CA004: another process was faster.
    R"sql(DO $$ BEGIN
    CREATE SCHEMA cairn;
EXCEPTION WHEN duplicate_schema THEN
    RAISE EXCEPTION 'the schema cairn is there' USING ERRCODE = 'CA004';
END $$)sql",

    R"sql(CREATE TABLE cairn.meta(
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    format bigint NOT NULL,
    incarnation text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
    boot bigint NOT NULL DEFAULT 0,
    durability text NOT NULL,
    retention text NOT NULL DEFAULT 'keep-all',
    lease bigint NOT NULL DEFAULT 86400000000,
    floor bigint NOT NULL DEFAULT 0))sql",

    "CREATE SEQUENCE cairn.blob_seq",

    // `transaction` orders the feed: by transaction horizon, then by seq.
    R"sql(CREATE TABLE cairn.blobs(
    id bytea PRIMARY KEY CHECK (octet_length(id) = 32),
    seq bigint NOT NULL DEFAULT nextval('cairn.blob_seq'),
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    size bigint NOT NULL,
    created_at bigint NOT NULL,
    checksums bigint NOT NULL,
    container bigint,
    start bigint,
    length bigint,
    value bytea,
    CHECK ((container IS NULL) = (value IS NOT NULL)))
WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05))sql",

    R"sql(CREATE TABLE cairn.leases(
    blob bytea PRIMARY KEY,
    until bigint NOT NULL)
WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05))sql",

    R"sql(CREATE TABLE cairn.namespaces(
    name text PRIMARY KEY,
    policy text NOT NULL))sql",

    R"sql(CREATE TABLE cairn.names(
    namespace text NOT NULL,
    key bytea NOT NULL,
    id bytea NOT NULL,
    kind bigint NOT NULL,
    meta bytea,
    PRIMARY KEY (namespace, key)))sql",
    "CREATE INDEX names_by_id ON cairn.names(id)",

    R"sql(CREATE TABLE cairn.segments(
    segment bigint PRIMARY KEY,
    boot bigint NOT NULL,
    sealed boolean NOT NULL DEFAULT false,
    end_bytes bigint NOT NULL DEFAULT 0,
    live_bytes bigint NOT NULL DEFAULT 0)
WITH (fillfactor = 50))sql",
    "CREATE INDEX segments_unsealed ON cairn.segments(segment) WHERE NOT sealed",

    // An upload is a row here, too: its owner keeps moving `not_before` while it lives.
    R"sql(CREATE TABLE cairn.reclaim(
    container bigint NOT NULL,
    start bigint NOT NULL,
    length bigint NOT NULL,
    owner bigint NOT NULL DEFAULT 0,
    not_before bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (container, start, length))
WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000))sql",
    "CREATE INDEX reclaim_by_time ON cairn.reclaim(not_before)",

    R"sql(CREATE TABLE cairn.quarantine(
    id bytea PRIMARY KEY,
    container bigint,
    start bigint,
    length bigint,
    reason text NOT NULL,
    at bigint NOT NULL))sql",

    R"sql(CREATE TABLE cairn.removals(
    seq bigint PRIMARY KEY DEFAULT nextval('cairn.blob_seq'),
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    id bytea NOT NULL,
    at bigint NOT NULL))sql",

    // What a change that must not run twice has done, for its re-run after a lost connection.
    R"sql(CREATE TABLE cairn.operations(
    id bytea PRIMARY KEY,
    outcome bigint NOT NULL,
    at bigint NOT NULL)
WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000))sql",

    // One row for each writing connection of each boot; (0, 0) sums up those of long ago.
    R"sql(CREATE TABLE cairn.totals(
    boot bigint NOT NULL,
    lane bigint NOT NULL,
    generation bigint NOT NULL DEFAULT 1,
    blobs bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0,
    used_at bigint NOT NULL,
    PRIMARY KEY (boot, lane))
WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000))sql",
    "INSERT INTO cairn.totals(boot, lane, used_at) VALUES (0, 0, 0)",

    // Bytes of bulk, 256 KiB a row: in the row, or in a large object. `checksums` are those of the
    // row's spans; the last row of a byte string, and no other, has its trailer.
    R"sql(CREATE TABLE cairn.chunks(
    container bigint NOT NULL,
    part bigint NOT NULL,
    checksums bytea NOT NULL,
    trailer bytea,
    object oid,
    bytes bytea,
    PRIMARY KEY (container, part),
    CHECK ((object IS NULL) = (bytes IS NOT NULL)))
WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05,
    toast.autovacuum_vacuum_scale_factor = 0.02))sql",
    "CREATE INDEX chunks_whole ON cairn.chunks(container) WHERE trailer IS NOT NULL",

    R"sql(DO $$ BEGIN
    ALTER TABLE cairn.blobs ALTER COLUMN value SET COMPRESSION lz4;
    ALTER TABLE cairn.chunks ALTER COLUMN bytes SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$)sql",

    // Microseconds since 1970 by the server's clock, at the moment of the call.
    R"sql(CREATE FUNCTION cairn.now_us() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$)sql",

    // The first statement of every write transaction (SAFETY.md R1.5). Locks the lane's row, so
    // that whoever raises the generation waits for this transaction, and fails if it was raised.
    // Sets what the transaction rests on itself, because a pooler may hand us any session.
    R"sql(CREATE FUNCTION cairn.begin_batch(my_boot bigint, my_lane bigint, my_generation bigint,
    must_flush boolean, must_replicate boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', CASE WHEN must_flush THEN 'on' ELSE 'off' END, true);
    PERFORM set_config('lock_timeout', '10s', true);
    IF must_replicate AND current_setting('synchronous_standby_names') = '' THEN
        RAISE EXCEPTION 'synchronous_standby_names is empty: nothing would be replicated'
            USING ERRCODE = 'CA003';
    END IF;
    PERFORM 1 FROM cairn.totals
        WHERE boot = my_boot AND lane = my_lane AND generation = my_generation FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'generation % of lane %/% has ended', my_generation, my_boot, my_lane
            USING ERRCODE = 'CA001';
    END IF;
END $$)sql",

    // A lane's next generation. Waits for the transaction of the one before, if it still runs. A
    // failover or a restored backup may have forgotten this boot while its process lives: no other
    // may then be given its number, and with it its containers.
    R"sql(CREATE FUNCTION cairn.claim_lane(my_boot bigint, my_lane bigint) RETURNS bigint
    LANGUAGE sql AS $$
    SELECT set_config('lock_timeout', '10s', true);
    UPDATE cairn.meta SET boot = my_boot WHERE boot < my_boot;
    INSERT INTO cairn.totals(boot, lane, used_at) VALUES (my_boot, my_lane, cairn.now_us())
    ON CONFLICT (boot, lane) DO UPDATE SET generation = cairn.totals.generation + 1,
        used_at = cairn.now_us()
    RETURNING generation $$)sql",

    // Adds the rows of lanes that nobody used for a day to (0, 0), and forgets their operations. A
    // lane that lives after all finds its row gone, and claims another.
    R"sql(CREATE FUNCTION cairn.fold_lanes() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    old record;
BEGIN
    PERFORM 1 FROM cairn.totals WHERE boot = 0 AND lane = 0 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN; END IF;
    FOR old IN SELECT boot, lane, blobs, bytes FROM cairn.totals
            WHERE boot <> 0 AND used_at < cairn.now_us() - 86400000000
            ORDER BY boot, lane FOR UPDATE SKIP LOCKED LOOP
        UPDATE cairn.totals SET blobs = blobs + old.blobs, bytes = bytes + old.bytes
            WHERE boot = 0 AND lane = 0;
        DELETE FROM cairn.totals WHERE boot = old.boot AND lane = old.lane;
    END LOOP;
    DELETE FROM cairn.operations WHERE at < cairn.now_us() - 86400000000;
END $$)sql",

    R"sql(CREATE FUNCTION cairn.count_blobs(my_boot bigint, my_lane bigint, more_blobs bigint,
    more_bytes bigint) RETURNS void LANGUAGE sql AS $$
    UPDATE cairn.totals SET blobs = blobs + more_blobs, bytes = bytes + more_bytes,
        used_at = cairn.now_us() WHERE boot = my_boot AND lane = my_lane $$)sql",

    // A sealed segment with nothing live goes into `reclaim` as a whole.
    R"sql(CREATE FUNCTION cairn.reclaim_if_dead(which bigint) RETURNS boolean
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO cairn.reclaim(container, start, length)
        SELECT segment, 0, 0 FROM cairn.segments
            WHERE segment = which AND sealed AND live_bytes = 0
        ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$)sql",

    // The bytes of a row that goes: dead space of their segment, or into `reclaim` themselves.
    R"sql(CREATE FUNCTION cairn.drop_bytes(c bigint, s bigint, l bigint) RETURNS boolean
    LANGUAGE plpgsql AS $$
BEGIN
    IF c IS NULL THEN RETURN false; END IF;
    UPDATE cairn.segments SET live_bytes = live_bytes - l WHERE segment = c;
    IF FOUND THEN RETURN cairn.reclaim_if_dead(c); END IF;
    INSERT INTO cairn.reclaim(container, start, length) VALUES (c, s, l) ON CONFLICT DO NOTHING;
    RETURN true;
END $$)sql",

    // Publishes one blob; engines/catalog.hpp, put_blob, says what it must do. An upload leaves
    // `reclaim` before the blob's row is made and comes back if it loses: its row is locked from
    // here to the commit, so no sweeper can have begun on its bytes (SAFETY.md R2.5). Its chunks
    // were committed without a flush, and the server may have gone down since: so they are counted
    // here, and this commit's flush makes them durable with the row (R1). The standing row is read
    // by a later statement than the one that met it (R3.9).
    R"sql(CREATE FUNCTION cairn.put_blob(my_boot bigint, my_lane bigint, b_id bytea, b_size bigint,
    b_checksums bigint, b_value bytea, c bigint, s bigint, l bigint, is_alone boolean,
    OUT changed boolean, OUT freed boolean, OUT standing cairn.blobs) LANGUAGE plpgsql AS $$
DECLARE
    in_segment boolean := false;
    is_upload boolean := false;
BEGIN
    changed := false;
    freed := false;
    IF c IS NOT NULL THEN
        PERFORM 1 FROM cairn.segments WHERE segment = c FOR NO KEY UPDATE;
        in_segment := FOUND;
        IF is_alone AND NOT in_segment THEN
            DELETE FROM cairn.reclaim WHERE container = c AND owner = my_boot;
            is_upload := FOUND;
            PERFORM 1 FROM cairn.blobs WHERE id = b_id AND container = c;
            IF NOT FOUND AND NOT is_upload THEN
                RAISE EXCEPTION 'the upload % belongs to nobody or to a sweeper', c
                    USING ERRCODE = 'CA002';
            END IF;
            IF is_upload AND (SELECT count(*) FROM cairn.chunks WHERE container = c)
                    <> greatest(1, (b_size + 262143) / 262144) THEN
                RAISE EXCEPTION 'the upload % has lost chunks', c USING ERRCODE = 'CA002';
            END IF;
        END IF;
    END IF;
    LOOP
        INSERT INTO cairn.blobs(id, size, created_at, checksums, container, start, length, value)
            VALUES (b_id, b_size, cairn.now_us(), b_checksums, c, s, l, b_value)
            ON CONFLICT (id) DO NOTHING;
        IF FOUND THEN
            PERFORM cairn.count_blobs(my_boot, my_lane, 1, b_size);
            changed := true;
            EXIT;
        END IF;
        SELECT * INTO standing FROM cairn.blobs WHERE id = b_id;
        CONTINUE WHEN NOT FOUND;
        IF c IS NOT NULL AND (standing.container, standing.start, standing.length)
                IS NOT DISTINCT FROM (c, s, l) THEN
            changed := true;
            RETURN;
        END IF;
        EXIT WHEN NOT EXISTS (SELECT FROM cairn.quarantine WHERE id = b_id);
        SELECT * INTO standing FROM cairn.blobs WHERE id = b_id FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM cairn.quarantine WHERE id = b_id;
        CONTINUE WHEN NOT FOUND;
        UPDATE cairn.blobs SET checksums = b_checksums, container = c, start = s, length = l,
            value = b_value WHERE id = b_id;
        freed := cairn.drop_bytes(standing.container, standing.start, standing.length);
        changed := true;
        EXIT;
    END LOOP;
    IF changed THEN
        standing := NULL;
    END IF;
    IF in_segment THEN
        UPDATE cairn.segments SET live_bytes = live_bytes + CASE WHEN changed THEN l ELSE 0 END,
            end_bytes = greatest(end_bytes, CASE WHEN changed THEN s + l ELSE 0 END),
            sealed = sealed OR is_alone WHERE segment = c;
        freed := cairn.reclaim_if_dead(c) OR freed;
    ELSIF c IS NOT NULL AND NOT changed THEN
        freed := cairn.drop_bytes(c, s, l);
    END IF;
    standing.value := NULL;
END $$)sql",

    // The re-run of a removal that happened has nothing to do: what stands now was put since.
    R"sql(CREATE FUNCTION cairn.remove_blob(my_boot bigint, my_lane bigint, b_id bytea,
    operation bytea, OUT changed boolean, OUT freed boolean) LANGUAGE plpgsql AS $$
DECLARE
    gone cairn.blobs;
BEGIN
    freed := false;
    changed := EXISTS (SELECT FROM cairn.operations WHERE id = operation);
    IF changed THEN RETURN; END IF;
    SELECT * INTO gone FROM cairn.blobs WHERE id = b_id FOR UPDATE;
    changed := FOUND;
    IF NOT changed THEN RETURN; END IF;
    INSERT INTO cairn.operations(id, outcome, at) VALUES (operation, 1, cairn.now_us());
    DELETE FROM cairn.blobs WHERE id = b_id;
    DELETE FROM cairn.quarantine WHERE id = b_id;
    PERFORM cairn.count_blobs(my_boot, my_lane, -1, -gone.size);
    freed := cairn.drop_bytes(gone.container, gone.start, gone.length);
END $$)sql",

    // Only if the row still has what failed: the locator, or the very value.
    R"sql(CREATE FUNCTION cairn.quarantine_blob(b_id bytea, c bigint, s bigint, l bigint,
    bad_value bytea, why text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cairn.blobs WHERE id = b_id AND container IS NOT DISTINCT FROM c
        AND start IS NOT DISTINCT FROM s AND length IS NOT DISTINCT FROM l
        AND value IS NOT DISTINCT FROM bad_value FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    INSERT INTO cairn.quarantine(id, container, start, length, reason, at)
        VALUES (b_id, c, s, l, why, cairn.now_us()) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$)sql",

    R"sql(CREATE FUNCTION cairn.seal_segment(which bigint, OUT changed boolean, OUT freed boolean)
    LANGUAGE plpgsql AS $$
BEGIN
    UPDATE cairn.segments SET sealed = true WHERE segment = which;
    changed := FOUND;
    freed := cairn.reclaim_if_dead(which);
END $$)sql",

    // Not a row that an upload or a sweeper works on, nor one whose bytes are still there because a
    // sweeper began and failed: that one goes with their last step.
    R"sql(CREATE FUNCTION cairn.forget_bytes(c bigint, s bigint, l bigint)
    RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    changed boolean;
BEGIN
    DELETE FROM cairn.reclaim WHERE container = c AND start = s AND length = l AND owner = 0
        AND NOT (s = 0 AND l = 0 AND EXISTS (SELECT FROM cairn.chunks WHERE container = c));
    changed := FOUND;
    IF s = 0 AND l = 0 THEN
        DELETE FROM cairn.segments WHERE segment = c AND sealed AND live_bytes = 0;
    END IF;
    RETURN changed;
END $$)sql",

    // Locks an upload for a transaction that writes its bytes, against the sweeper (R2.5).
    R"sql(CREATE FUNCTION cairn.own_upload(c bigint, my_boot bigint) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cairn.reclaim
        WHERE container = c AND start = 0 AND length = 0 AND owner = my_boot FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the upload % belongs to nobody or to a sweeper', c
            USING ERRCODE = 'CA002';
    END IF;
END $$)sql",

    // A chunk of an upload, in its row or in the upload's large object, which the first chunk
    // makes. The same again changes nothing.
    R"sql(CREATE FUNCTION cairn.write_chunk(c bigint, p bigint, sums bytea, end_trailer bytea,
    is_large boolean, content bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    in_object oid;
BEGIN
    IF NOT is_large THEN
        INSERT INTO cairn.chunks(container, part, checksums, trailer, bytes)
            VALUES (c, p, sums, end_trailer, content) ON CONFLICT DO NOTHING;
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM cairn.chunks WHERE container = c AND part = p) THEN RETURN; END IF;
    IF p = 0 THEN
        in_object := lo_create(0);
    ELSE
        SELECT object INTO STRICT in_object FROM cairn.chunks WHERE container = c AND part = 0;
    END IF;
    PERFORM lo_put(in_object, p * 262144, content);
    INSERT INTO cairn.chunks(container, part, checksums, trailer, object)
        VALUES (c, p, sums, end_trailer, in_object);
END $$)sql",

    // The first transaction of a sweep: takes what nobody works on, for a while that each step
    // makes longer. A sweeper signs with its boot's negative: an upload of its own boot that comes
    // too late must not take it for its owner. False when there is nothing to take.
    R"sql(CREATE FUNCTION cairn.claim_bytes(my_boot bigint, c bigint, patience bigint)
    RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM cairn.reclaim WHERE container = c AND start = 0 AND length = 0
        AND (owner IN (my_boot, -my_boot) OR not_before <= cairn.now_us()) FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE cairn.reclaim SET owner = -my_boot, not_before = cairn.now_us() + patience
        WHERE container = c AND start = 0 AND length = 0;
    RETURN true;
END $$)sql",

    // One step of a sweep, from the end: at most `rows_max` chunks, or as much of a large object.
    // The row in `reclaim` goes with the last. True when nothing is left.
    R"sql(CREATE FUNCTION cairn.sweep_bytes(my_boot bigint, c bigint, rows_max bigint,
    patience bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    first_part bigint;
    in_object oid;
BEGIN
    PERFORM 1 FROM cairn.reclaim
        WHERE container = c AND start = 0 AND length = 0 AND owner = -my_boot FOR UPDATE;
    IF NOT FOUND THEN RETURN true; END IF;
    SELECT min(part), min(object) INTO first_part, in_object FROM (
        SELECT part, object FROM cairn.chunks WHERE container = c
            ORDER BY part DESC LIMIT rows_max) AS last_rows;
    IF in_object IS NOT NULL AND first_part > 0 THEN
        PERFORM lo_truncate64(lo_open(in_object, 131072), first_part * 262144);
    ELSIF in_object IS NOT NULL THEN
        PERFORM lo_unlink(in_object);
    END IF;
    DELETE FROM cairn.chunks WHERE container = c AND part >= first_part;
    IF coalesce(first_part, 0) > 0 THEN
        UPDATE cairn.reclaim SET not_before = cairn.now_us() + patience
            WHERE container = c AND start = 0 AND length = 0;
        RETURN false;
    END IF;
    DELETE FROM cairn.reclaim WHERE container = c AND start = 0 AND length = 0;
    RETURN true;
END $$)sql",
};

constexpr const char* format_2[] = {
    // Only if the row still names what was copied, and no quarantine came between. The row is
    // locked by an earlier statement than those that decide (SAFETY.md R3.9). Run again, it finds
    // its own locator and has nothing to do.
    R"sql(CREATE FUNCTION cairn.move_blob(b_id bytea, c bigint, s bigint, l bigint,
    to_c bigint, to_s bigint, to_l bigint, is_alone boolean, OUT changed boolean,
    OUT freed boolean) LANGUAGE plpgsql AS $$
BEGIN
    freed := false;
    PERFORM 1 FROM cairn.blobs WHERE id = b_id FOR NO KEY UPDATE;
    changed := EXISTS (SELECT FROM cairn.blobs
        WHERE id = b_id AND container = to_c AND start = to_s AND length = to_l);
    IF changed THEN RETURN; END IF;
    UPDATE cairn.blobs SET container = to_c, start = to_s, length = to_l
        WHERE id = b_id AND container = c AND start = s AND length = l
        AND NOT EXISTS (SELECT FROM cairn.quarantine WHERE id = b_id);
    changed := FOUND;
    UPDATE cairn.segments SET live_bytes = live_bytes + CASE WHEN changed THEN to_l ELSE 0 END,
        end_bytes = greatest(end_bytes, CASE WHEN changed THEN to_s + to_l ELSE 0 END),
        sealed = sealed OR is_alone WHERE segment = to_c;
    freed := cairn.reclaim_if_dead(to_c);
    IF changed THEN freed := cairn.drop_bytes(c, s, l) OR freed; END IF;
END $$)sql",
};

}  // namespace

std::span<const char* const> migration(int from) {
    CAIRN_CHECK(from == 0 || from == 1);
    if (from == 0) return format_1;
    return format_2;
}

}  // namespace cairn::postgres
