-- Publish and rollback: after each one the target holds exactly the rows of one version, under the same names and with the same
-- objects as before; nothing that was withdrawn comes back by accident, and nothing written meanwhile is lost.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_publish_owner;
CREATE ROLE regress_publish_reader;
CREATE SCHEMA publish_t;
GRANT CREATE, USAGE ON SCHEMA publish_t TO regress_publish_owner;
GRANT USAGE ON SCHEMA publish_t TO regress_publish_reader;
SET search_path = publish_t, public;
SET ROLE regress_publish_owner;

CREATE TABLE src AS SELECT date '2026-01-01' + i % 90 AS d, i AS k, i::numeric(10,2) AS v, 'n' || i AS note FROM generate_series(0, 179) i;
CREATE TABLE t (gone int, d date NOT NULL, k int NOT NULL, v numeric(10,2) CONSTRAINT v_limit CHECK (v < 100000), note text DEFAULT 'none',
                twice numeric GENERATED ALWAYS AS (v * 2) STORED, PRIMARY KEY (d, k)) PARTITION BY RANGE (d);
ALTER TABLE t DROP COLUMN gone;
CREATE INDEX t_note ON t (note);
CREATE TABLE t_01 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') WITH (fillfactor = 70);
CREATE TABLE t_02 (twice numeric GENERATED ALWAYS AS (v * 2) STORED, note text DEFAULT 'february', k int NOT NULL, x int, v numeric(10,2) CONSTRAINT v_limit CHECK (v < 100000),
                   d date NOT NULL);
ALTER TABLE t_02 DROP COLUMN x;
ALTER TABLE t ATTACH PARTITION t_02 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE t_03 PARTITION OF t FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
CREATE INDEX t_02_only ON t_02 (lower(note)) WHERE k > 10;
ALTER TABLE t_02 ADD CONSTRAINT t_02_unique UNIQUE (k), ADD CONSTRAINT not_valid CHECK (k <> 1000) NOT VALID;
CREATE STATISTICS t_02_stat ON k, v FROM t_02;
COMMENT ON TABLE t_02 IS 'February';
COMMENT ON INDEX t_02_only IS 'for search';
GRANT SELECT ON t, t_01 TO regress_publish_reader;
GRANT SELECT (d, v) ON t_02 TO regress_publish_reader;
INSERT INTO t (d, k, v, note) SELECT * FROM src;
ANALYZE t;
-- rows of the target against what they should be, both ways, duplicates counted
CREATE FUNCTION difference(target text, columns text, expected text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM ((SELECT %2$s FROM %1$s EXCEPT ALL (%3$s)) UNION ALL ((%3$s) EXCEPT ALL SELECT %2$s FROM %1$s)) d',
                 target, columns, expected) INTO n;
  RETURN n;
END $$;
-- everything about the objects of a schema but their oids and our guard triggers
CREATE FUNCTION objects(nsp regnamespace) RETURNS SETOF text LANGUAGE sql AS $$
  SELECT concat_ws(' ', c.relkind, c.relname, c.relowner::regrole, c.relpersistence, c.reloptions, c.relacl, c.relispartition, c.relreplident,
                   pg_get_expr(c.relpartbound, c.oid), obj_description(c.oid, 'pg_class'), pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisprimary,
                   i.indisclustered, (SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = c.oid))
    FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid WHERE c.relnamespace = nsp AND c.relkind <> 't'
  UNION ALL
  SELECT concat_ws(' ', c.relname, a.attname, a.attnum, a.attisdropped, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage, a.attacl,
                   a.attislocal, a.attinhcount, pg_get_expr(d.adbin, d.adrelid))
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
   WHERE c.relnamespace = nsp AND c.relkind IN ('r', 'p') AND NOT a.attisdropped
  UNION ALL
  SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated, conislocal, coninhcount,
                   (SELECT p.conname FROM pg_constraint p WHERE p.oid = k.conparentid))
    FROM pg_constraint k WHERE connamespace = nsp AND contype <> 'n'
  UNION ALL
  SELECT concat_ws(' ', tgrelid::regclass, tgname) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
   WHERE c.relnamespace = nsp AND tgname !~ '^backfill_guard'
  UNION ALL
  SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext WHERE stxnamespace = nsp $$;
CREATE TABLE objects_before AS SELECT objects('publish_t') AS object;
CREATE FUNCTION objects_changed() RETURNS TABLE (was text, "is" text) LANGUAGE sql AS $$
  SELECT object, NULL FROM (SELECT object FROM objects_before EXCEPT ALL SELECT objects('publish_t')) x
  UNION ALL SELECT NULL, o FROM (SELECT objects('publish_t') EXCEPT ALL SELECT object FROM objects_before) y(o)
   WHERE o !~ 'objects_before' $$;
\set columns 'd, k, v, note, twice'
\set v1 'SELECT d, k, (v + 1)::numeric(10,2) AS v, note FROM publish_t.src'
\set old_rows 'SELECT d, k, v, note, v * 2 FROM publish_t.src'
\set new_rows 'SELECT d, k, (v + 1)::numeric(10,2), note, (v + 1)::numeric(10,2) * 2 FROM publish_t.src'

--
-- Not before it is built, and by nobody else
--
SELECT * FROM backfill_publish('v1');
\echo :SQLSTATE
SELECT * FROM backfill_publish(NULL);
\echo :SQLSTATE
SELECT backfill_create('v1', 't', :'v1', all_partitions => true, late_changes => 'ignore', code_revision => 'r1');
SELECT * FROM backfill_publish('v1');
\echo :SQLSTATE
SELECT * FROM backfill_rollback('v1');
\echo :SQLSTATE
SELECT partition, state, rows FROM backfill_build('v1');
SELECT * FROM backfill_rollback('v1');
\echo :SQLSTATE
SET ROLE regress_publish_reader;
SELECT * FROM backfill_publish('v1');
\echo :SQLSTATE
SELECT * FROM backfill_rollback('v1');
\echo :SQLSTATE
SELECT * FROM backfill_rollback(target => 't');
\echo :SQLSTATE
SET ROLE regress_publish_owner;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM backfill_publish('v1');
\echo :SQLSTATE
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM backfill_rollback('v1');
\echo :SQLSTATE
ROLLBACK;
SELECT difference('t', :'columns', :'old_rows') AS old;

--
-- Publish: exactly the new rows, the same objects
--
PREPARE reader AS SELECT count(*), sum(v) FROM t WHERE d >= '2026-01-15';
EXECUTE reader;
SELECT target, action, swapped, unchanged, created, replaces, attempts > 0 AS attempts, waited IS NOT NULL AS waited, held IS NOT NULL AS held FROM backfill_publish('v1');
SELECT difference('t', :'columns', :'new_rows') AS new, difference('t', :'columns', :'old_rows') AS old;
EXECUTE reader;
SELECT * FROM objects_changed();
SELECT version, target, state, built, gates, live, since IS NOT NULL AS since, next_step FROM backfill.status;
SELECT ordinal, partition, state, live::text ~ '^backfill_staging' AS replaced_is_kept, staged, rows FROM backfill.partition
 WHERE version = 'v1' ORDER BY ordinal;
SELECT action, version, target, replaces, swapped, unchanged, created, attempts > 0 AS attempts, by_role = session_user AS by_me FROM backfill.history;
-- readers keep their rights
SET ROLE regress_publish_reader;
SELECT count(*) FROM t;
SELECT count(*) FROM t_01;
SELECT sum(v) FROM t_02;
SELECT count(note) FROM t_02;
SET ROLE regress_publish_owner;
-- the planner has statistics of the new rows, also of the whole
SELECT relname, reltuples FROM pg_class WHERE relname IN ('t', 't_01', 't_02', 't_03') AND relnamespace = 'publish_t'::regnamespace ORDER BY 1;

--
-- Again: no harm
--
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_publish('v1');
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_publish('v1', again => true);
SELECT partition, state, rows, attempts FROM backfill_build('v1');
SELECT backfill_create('v1', 't', :'v1', all_partitions => true, late_changes => 'ignore', code_revision => 'r1');
SELECT backfill_create('v1', 't', :'v1', all_partitions => true, late_changes => 'ignore', code_revision => 'r2');
\echo :SQLSTATE
SELECT backfill_create('v1', 't', :'v1', all_partitions => true, late_changes => 'ignore', code_revision => 'r2', "replace" => true);
\echo :SQLSTATE
SELECT backfill_add_gate('v1', 'late', total => 'sum(v)');
\echo :SQLSTATE
SELECT backfill_drop('v1');
\echo :SQLSTATE
SELECT count(*) FROM backfill.history;

--
-- Rollback: exactly the old rows, the same objects; a script that runs again does not bring the version back
--
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_rollback('v1');
SELECT difference('t', :'columns', :'old_rows') AS old;
EXECUTE reader;
SELECT * FROM objects_changed();
SELECT version, state, live, since, next_step FROM backfill.status;
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_rollback('v1');
SELECT * FROM backfill_publish('v1');
\echo :SQLSTATE
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_publish('v1', again => true);
SELECT difference('t', :'columns', :'new_rows') AS new;
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_rollback(target => 't');
SELECT difference('t', :'columns', :'old_rows') AS old;
SELECT * FROM objects_changed();
SELECT action, version, replaces, swapped FROM backfill.history ORDER BY at;
-- the arguments of rollback
SELECT * FROM backfill_rollback();
\echo :SQLSTATE
SELECT * FROM backfill_rollback('unknown');
\echo :SQLSTATE
SELECT * FROM backfill_rollback('v1', on_writes => 'keep');
\echo :SQLSTATE
SELECT * FROM backfill_rollback('v1', on_writes => NULL);
\echo :SQLSTATE
SELECT * FROM backfill_rollback('v1', target => 'src');
\echo :SQLSTATE
SELECT * FROM backfill_rollback(target => 't');
\echo :SQLSTATE
SELECT * FROM backfill_rollback(target => 'src');
\echo :SQLSTATE
SELECT target, action FROM backfill_rollback(target => 't', "to" => 'original');
SELECT * FROM backfill_rollback('v1', "to" => 'unknown');
\echo :SQLSTATE

--
-- Overlapping versions: the newer one first
--
SELECT backfill_create('a', 't', 'SELECT d, k, v + 10 AS v, note FROM src', '2026-01-01', '2026-03-01', late_changes => 'ignore');
SELECT backfill_create('b', 't', 'SELECT d, k, v + 20 AS v, note FROM src', '2026-02-01', '2026-04-01', late_changes => 'ignore');
SELECT count(*) FROM backfill_build('a');
SELECT count(*) FROM backfill_build('b');
SELECT target, action, swapped, replaces FROM backfill_publish('a');
-- what b was compared with is not live any more
SELECT * FROM backfill_publish('b');
\echo :SQLSTATE
SELECT gate, result, new FROM backfill_validate('b') WHERE result = 'failed';
SELECT partition, state FROM backfill_build('b');
SELECT target, action, swapped, replaces FROM backfill_publish('b');
SELECT partition, state FROM backfill.partition WHERE version IN ('a', 'b') ORDER BY version, ordinal;
SELECT version, state, live, next_step FROM backfill.status WHERE version IN ('a', 'b') ORDER BY 1;
SELECT difference('t', 'd, k, v', 'SELECT d, k, v + CASE WHEN d < ''2026-02-01'' THEN 10 ELSE 20 END FROM src') AS both;
SELECT * FROM backfill_rollback('a');
\echo :SQLSTATE
SELECT target, action, swapped, replaces FROM backfill_rollback('b');
SELECT difference('t', 'd, k, v', 'SELECT d, k, v + CASE WHEN d < ''2026-03-01'' THEN 10 ELSE 0 END FROM src') AS a_alone;
SELECT target, action, swapped, replaces FROM backfill_publish('b', again => true);
-- back to what was there before both, in one call
SELECT target, action, swapped, replaces FROM backfill_rollback('b', "to" => 'v1');
\echo :SQLSTATE
SELECT target, action, swapped, replaces FROM backfill_rollback(target => 't', "to" => 'a');
SELECT difference('t', 'd, k, v', 'SELECT d, k, v + CASE WHEN d < ''2026-03-01'' THEN 10 ELSE 0 END FROM src') AS a_alone;
SELECT target, action, swapped, replaces FROM backfill_publish('b', again => true);
SELECT target, action, swapped, replaces FROM backfill_rollback(target => 't', "to" => 'original');
SELECT difference('t', :'columns', :'old_rows') AS old;
SELECT * FROM objects_changed();
SELECT version, state FROM backfill.status ORDER BY 1;
-- one that is covered entirely is superseded, and live again when the newer one goes
SELECT backfill_create('c', 't', 'SELECT d, k, v + 30 AS v, note FROM src', '2026-02-01', '2026-03-01', late_changes => 'ignore');
SELECT backfill_create('e', 't', 'SELECT d, k, v + 40 AS v, note FROM src', '2026-02-01', '2026-03-01', late_changes => 'ignore');
SELECT count(*) FROM backfill_build('c');
SELECT target, action, swapped, replaces FROM backfill_publish('c');
SELECT count(*) FROM backfill_build('e');
SELECT target, action, swapped, replaces FROM backfill_publish('e');
SELECT version, state, live, next_step FROM backfill.status WHERE version IN ('c', 'e') ORDER BY 1;
SELECT * FROM backfill_publish('c');
\echo :SQLSTATE
SELECT target, action, swapped, replaces FROM backfill_rollback('e');
SELECT version, state, live FROM backfill.status WHERE version IN ('c', 'e') ORDER BY 1;
SELECT target, action, swapped, replaces FROM backfill_rollback('c');
SELECT difference('t', :'columns', :'old_rows') AS old;
SELECT * FROM objects_changed();
SELECT backfill_drop('a'), backfill_drop('b'), backfill_drop('c'), backfill_drop('e');

--
-- Writes: never lost without a word
--
SELECT backfill_create('w', 't', 'SELECT d, k, v + 1 AS v, note FROM src', '2026-01-01', '2026-02-01', late_changes => 'ignore');
SELECT partition, state FROM backfill_build('w');
INSERT INTO t (d, k, v) VALUES ('2026-01-31', 999, 1);
SELECT * FROM backfill_publish('w');
\echo :SQLSTATE
DELETE FROM t WHERE k = 999;
SELECT partition, state FROM backfill_build('w');
SELECT target, action, swapped FROM backfill_publish('w');
-- the pipeline goes on writing to the live partition, and nobody can write to the retired one
INSERT INTO t (d, k, v) VALUES ('2026-01-31', 999, 1);
SELECT live AS retired FROM backfill.partition WHERE version = 'w' \gset
\set VERBOSITY sqlstate
DELETE FROM :retired;
TRUNCATE :retired;
\set VERBOSITY default
SELECT * FROM backfill_rollback('w');
\echo :SQLSTATE
SELECT target, action, swapped FROM backfill_rollback('w', on_writes => 'discard');
SELECT count(*) FROM t WHERE k = 999;
SELECT action, overrides FROM (SELECT jsonb_array_elements(backfill_manifest('w')->'history')) x(h), jsonb_to_record(h) AS (action text, overrides jsonb);
SELECT * FROM backfill_publish('w', again => true);
\echo :SQLSTATE
SELECT backfill_drop('w');
DELETE FROM t WHERE k = 999;

--
-- An aborted write changes no row, but leaves a page that is not all-frozen: VACUUM mends it.  And a version that changes nothing
-- replaces the one it is equal to.
--
SELECT backfill_create('again', 't', 'SELECT d, k, v + 5 AS v, note FROM src', '2026-01-01', '2026-02-01', late_changes => 'ignore');
SELECT partition, state FROM backfill_build('again');
SELECT action, swapped FROM backfill_publish('again');
SELECT * FROM backfill_plan('again');
BEGIN;
INSERT INTO t (d, k, v) VALUES ('2026-01-31', 999, 1);
ROLLBACK;
SELECT action, swapped FROM backfill_rollback('again');
SELECT staged FROM backfill.partition WHERE version = 'again' \gset
\set VERBOSITY terse
SELECT action, swapped FROM backfill_publish('again', again => true);
\set VERBOSITY default
VACUUM (FREEZE, INDEX_CLEANUP ON) :staged;
SELECT action, swapped FROM backfill_publish('again', again => true);
SELECT backfill_create('same', 't', 'SELECT d, k, v + 5 AS v, note FROM src', '2026-01-01', '2026-02-01', late_changes => 'ignore');
SELECT partition, state FROM backfill_build('same');
SELECT action, swapped, unchanged, replaces FROM backfill_publish('same');
SELECT action, swapped, unchanged, replaces FROM backfill_rollback('same');
SELECT backfill_drop('same');
SELECT action, swapped FROM backfill_rollback('again');
SELECT backfill_drop('again');

--
-- Created partitions and DEFAULT
--
CREATE TABLE t_rest PARTITION OF t DEFAULT;
DROP TABLE objects_before;
CREATE TABLE objects_before AS SELECT objects('publish_t') AS object;
INSERT INTO t (d, k, v) VALUES ('2026-04-05', 2000, 1), ('2030-01-01', 2001, 1);
SELECT backfill_create('more', 't', 'SELECT d, k, v, note FROM src UNION ALL SELECT d + 90, k, v, note FROM src', '2026-03-01', '2026-06-01',
       gaps => 'create', step => '1 month', partition_name => '"t_"MM', late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('more');
-- their rows are in the default partition
SELECT * FROM backfill_publish('more');
\echo :SQLSTATE
DELETE FROM t WHERE k = 2000;
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_publish('more');
SELECT was, regexp_replace("is", ' (WITH|pg).*', '') AS "is" FROM objects_changed() ORDER BY 1, 2;
SELECT tableoid::regclass::text, count(*) FROM t WHERE d >= '2026-03-01' GROUP BY 1 ORDER BY 1;
SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE tgname = 'backfill_guard' AND tgrelid::regclass::text IN ('t_04', 't_05') ORDER BY 1;
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_rollback('more');
SELECT * FROM objects_changed();
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_publish('more', again => true);
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_rollback('more');
SELECT backfill_create('rest', 't', 'SELECT d, k, v, note FROM src UNION ALL SELECT ''2031-01-01'', 1, 1, ''x''', partitions => '{t_rest,t_01}',
       late_changes => 'ignore', max_lost_keys => 1);
SELECT partition, state, rows FROM backfill_build('rest');
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_publish('rest');
SELECT d, k FROM t_rest;
SELECT * FROM objects_changed();
SELECT target, action, swapped, unchanged, created, replaces FROM backfill_rollback('rest');
SELECT d, k FROM t_rest;
SELECT * FROM objects_changed();
DROP TABLE t_rest;

--
-- In a migration script: all of it, or nothing
--
\set VERBOSITY terse
BEGIN;
SELECT backfill_create('script', 't', :'v1', all_partitions => true, late_changes => 'ignore');
SELECT count(*) FROM backfill_build('script');
SELECT target, action, swapped FROM backfill_publish('script');
SELECT difference('t', :'columns', :'new_rows') AS new;
ROLLBACK;
SELECT difference('t', :'columns', :'old_rows') AS old;
SELECT count(*) FROM backfill.status WHERE version = 'script';
\set VERBOSITY default
BEGIN;
SHOW idle_in_transaction_session_timeout;
SELECT backfill_create('script', 't', :'v1', all_partitions => true, late_changes => 'ignore');
SELECT count(*) FROM backfill_build('script');
SELECT target, action, swapped FROM backfill_publish('script');
SHOW idle_in_transaction_session_timeout;
SAVEPOINT s;
SELECT target, action, swapped FROM backfill_rollback('script');
ROLLBACK TO s;
COMMIT;
SHOW idle_in_transaction_session_timeout;
SELECT difference('t', :'columns', :'new_rows') AS new;
-- written, read and withdrawn by hand in one transaction
BEGIN;
INSERT INTO t (d, k, v) VALUES ('2026-01-31', 999, 1);
SELECT target, action FROM backfill_rollback('script');
ROLLBACK;
DO $$ BEGIN PERFORM backfill_rollback('script'); END $$;
SELECT difference('t', :'columns', :'old_rows') AS old;

--
-- Refusals at the last moment: something on the partition, missing guards, an unfrozen or unsealed table, a changed tree
--
SELECT backfill_create('late', 't', :'v1', '2026-01-01', '2026-03-01', late_changes => 'ignore', swap => 'attach');
SELECT partition, state FROM backfill_build('late');
CREATE VIEW january AS SELECT * FROM t_01;
SELECT * FROM backfill_publish('late');
\echo :SQLSTATE
DROP VIEW january;
DROP TRIGGER backfill_guard ON t_01;
SELECT * FROM backfill_publish('late');
\echo :SQLSTATE
SELECT gate, result, new FROM backfill_validate('late') WHERE result = 'failed';
SELECT * FROM backfill_publish('late');
\echo :SQLSTATE
-- building puts them back
SELECT partition, state FROM backfill_build('late');
SELECT gate, result, new FROM backfill_validate('late') WHERE result = 'failed';
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 't_01'::regclass AND tgname ~ 'backfill' ORDER BY 1;
SELECT backfill_drop('late');
SELECT backfill_create('late', 't', :'v1', '2026-01-01', '2026-03-01', late_changes => 'ignore', swap => 'attach');
SELECT partition, state FROM backfill_build('late');
SELECT staged FROM backfill.partition WHERE version = 'late' AND ordinal = 1 \gset
ALTER TABLE :staged DISABLE TRIGGER backfill_guard;
UPDATE :staged SET v = v + 1 WHERE k = 1;
ALTER TABLE :staged ENABLE ALWAYS TRIGGER backfill_guard;
SELECT * FROM backfill_publish('late');
\echo :SQLSTATE
SELECT gate, result, new FROM backfill_validate('late') WHERE result = 'failed';
\set VERBOSITY terse
SELECT * FROM backfill_publish('late');
\echo :SQLSTATE
\set VERBOSITY default
SELECT backfill_drop('late');
SELECT backfill_create('late', 't', :'v1', '2026-01-01', '2026-03-01', late_changes => 'ignore', swap => 'attach');
SELECT partition, state FROM backfill_build('late');
ALTER TABLE t DETACH PARTITION t_01;
SELECT * FROM backfill_publish('late');
\echo :SQLSTATE
CREATE TABLE t_other PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
SELECT * FROM backfill_publish('late');
\echo :SQLSTATE
DROP TABLE t_other;
ALTER TABLE t ATTACH PARTITION t_01 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
SELECT staged FROM backfill.partition WHERE version = 'late' AND ordinal = 1 \gset
ALTER TABLE :staged RENAME TO something_else;
SELECT * FROM backfill_publish('late');
\echo :SQLSTATE
SELECT split_part(:'staged', '.', 2) AS staged_name \gset
ALTER TABLE backfill_staging.something_else RENAME TO :staged_name;
ALTER TABLE t ADD COLUMN extra int;
SELECT * FROM backfill_publish('late');
\echo :SQLSTATE
ALTER TABLE t DROP COLUMN extra;
SELECT partition, state FROM backfill_build('late');
SELECT target, action, swapped FROM backfill_publish('late');
SELECT live AS retired FROM backfill.partition WHERE version = 'late' AND ordinal = 1 \gset
DROP TABLE :retired;
SELECT * FROM backfill_rollback('late');
\echo :SQLSTATE

SELECT state FROM backfill.status WHERE version = 'late';

--
-- The target changes while a version waits or is live: its columns, its names, its owner
--
SELECT backfill_create('moves', 't', 'SELECT d, k, v + 3 AS v, note FROM src', '2026-03-01', '2026-04-01', late_changes => 'ignore');
SELECT partition, state FROM backfill_build('moves');
ALTER TABLE t DETACH PARTITION t_03;
SELECT gate, result, new FROM backfill_validate('moves') WHERE result = 'failed';
SELECT * FROM backfill_publish('moves');
\echo :SQLSTATE
ALTER TABLE t ATTACH PARTITION t_03 FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
SELECT gate, result, new FROM backfill_validate('moves') WHERE result = 'failed';
ALTER TABLE t RENAME TO renamed;
ALTER TABLE t_03 RENAME TO renamed_03;
SELECT target, action, swapped FROM backfill_publish('moves');
SELECT difference('renamed_03', 'd, k, v', 'SELECT d, k, v + 3 FROM src WHERE d >= ''2026-03-01''') AS new;
ALTER TABLE renamed RENAME TO t;
SELECT target, action, swapped FROM backfill_rollback('moves');
SELECT difference('renamed_03', 'd, k, v', 'SELECT d, k, v FROM src WHERE d >= ''2026-03-01''') AS old;
ALTER TABLE renamed_03 RENAME TO t_03;
SELECT target, action, swapped FROM backfill_publish('moves', again => true);
ALTER TABLE t RENAME note TO remark;
SELECT * FROM backfill_rollback('moves');
\echo :SQLSTATE
ALTER TABLE t RENAME remark TO note;
ALTER TABLE t ADD COLUMN extra int;
SELECT * FROM backfill_rollback('moves');
\echo :SQLSTATE
ALTER TABLE t DROP COLUMN extra;
CREATE INDEX t_v ON t (v);
SELECT * FROM backfill_rollback('moves');
\echo :SQLSTATE
DROP INDEX t_v;
SELECT target, action, swapped FROM backfill_rollback('moves');
SELECT backfill_drop('moves');
CREATE TABLE given (d date, k int) PARTITION BY RANGE (d);
CREATE TABLE given_01 PARTITION OF given FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO given SELECT d, k FROM src WHERE d < '2026-02-01';
SELECT backfill_create('given', 'given', 'SELECT d, k + 1 AS k FROM given', all_partitions => true, key => '{}', late_changes => 'ignore');
SELECT partition, state FROM backfill_build('given');
RESET ROLE;
GRANT CREATE ON SCHEMA publish_t TO regress_publish_reader;
ALTER TABLE given OWNER TO regress_publish_reader;
ALTER TABLE given_01 OWNER TO regress_publish_reader;
SET ROLE regress_publish_owner;
SELECT * FROM backfill_publish('given');
\echo :SQLSTATE
SET ROLE regress_publish_reader;
SELECT partition, state FROM backfill_build('given');
SELECT target, action, swapped FROM backfill_publish('given');
SELECT relowner::regrole FROM pg_class WHERE oid = 'given_01'::regclass;
SELECT target, action, swapped FROM backfill_rollback('given');
SELECT backfill_drop('given');
SET ROLE regress_publish_owner;

--
-- Locks are held for backfill.max_xlock_time at most; then everything is undone
--
SELECT backfill_create('slow', 't', 'SELECT d, k, v + 2 AS v, note FROM src', '2026-03-01', '2026-04-01', late_changes => 'ignore');
SELECT partition, state FROM backfill_build('slow');
RESET ROLE;
CREATE FUNCTION sleep() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); END $$;
CREATE EVENT TRIGGER regress_publish_sleep ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION sleep();
SET ROLE regress_publish_owner;
\set VERBOSITY sqlstate
SET backfill.max_xlock_time = '99ms';
\set VERBOSITY default
SET backfill.max_xlock_time = '100ms';
SELECT * FROM backfill_publish('slow');
\echo :SQLSTATE
SELECT state FROM backfill.status WHERE version = 'slow';
SELECT difference('t_03', 'd, k, v', 'SELECT d, k, v FROM src WHERE d >= ''2026-03-01''') AS old;
RESET backfill.max_xlock_time;
RESET ROLE;
DROP EVENT TRIGGER regress_publish_sleep;
SET ROLE regress_publish_owner;
SELECT target, action, swapped FROM backfill_publish('slow');
-- what readers saw was dropped since
DROP TABLE t_03;
SELECT * FROM backfill_rollback('slow');
\echo :SQLSTATE

RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA publish_t CASCADE;
DROP EXTENSION backfill CASCADE;
DROP OWNED BY regress_publish_owner, regress_publish_reader;
DROP ROLE regress_publish_owner, regress_publish_reader;
