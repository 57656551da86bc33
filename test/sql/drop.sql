-- backfill_drop takes away what a version needs no more: all of one that never was live, the tables of one that was, whose
-- record stays.  It never touches what readers see, nor what another version needs.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_drop_owner;
CREATE ROLE regress_drop_other;
CREATE SCHEMA drop_t;
GRANT CREATE, USAGE ON SCHEMA drop_t TO regress_drop_owner;
SET search_path = drop_t, public;
SET ROLE regress_drop_owner;
CREATE TABLE src AS SELECT date '2026-01-01' + i % 59 AS d, i AS k FROM generate_series(0, 117) i;
CREATE TABLE t (d date, k int, v int DEFAULT 0, PRIMARY KEY (d, k)) PARTITION BY RANGE (d);
CREATE TABLE t_01 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE t_02 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO t SELECT * FROM src;
CREATE FUNCTION staging() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace AND relkind = 'r' $$;
CREATE FUNCTION guards() RETURNS text LANGUAGE sql AS $$ SELECT coalesce(string_agg(tgrelid::regclass::text, ' ' ORDER BY tgrelid::regclass::text), 'none')
  FROM pg_trigger WHERE tgname = 'backfill_guard' AND tgrelid::regclass::text !~ 'backfill_staging' $$;
SELECT backfill_drop('a');
\echo :SQLSTATE
SELECT backfill_drop(NULL) IS NULL AS nothing;

--
-- Never live: nothing is left and the name is free again
--
SELECT backfill_create('a', 't', 'SELECT d, k, 1 AS v FROM src', all_partitions => true, late_changes => 'ignore');
SELECT backfill_drop('a');
SELECT staging(), guards(), (SELECT count(*) FROM backfill.status) AS versions;
SELECT backfill_create('a', 't', 'SELECT d, k, 1 AS v FROM src', all_partitions => true, late_changes => 'ignore');
SELECT count(*) FROM backfill_build('a');
SELECT staging(), guards(), (SELECT count(*) FROM backfill.evidence) > 0 AS evidence;
SET ROLE regress_drop_other;
SELECT backfill_drop('a');
\echo :SQLSTATE
SET ROLE regress_drop_owner;
SELECT backfill_drop('a');
SELECT staging(), guards(), (SELECT count(*) FROM backfill.status) AS versions, (SELECT count(*) FROM backfill.evidence) AS evidence;
SELECT count(*) FROM t WHERE v = 0;

--
-- Live: not before it is withdrawn; then the tables go and the record stays, the name with it
--
SELECT backfill_create('a', 't', 'SELECT d, k, 1 AS v FROM src', all_partitions => true, late_changes => 'ignore');
SELECT count(*) FROM backfill_build('a');
SELECT target, action, swapped FROM backfill_publish('a');
SELECT backfill_drop('a');
\echo :SQLSTATE
SELECT target, action, swapped FROM backfill_rollback('a');
SELECT staging(), guards();
SELECT backfill_drop('a');
SELECT staging(), guards();
SELECT version, state, live, next_step FROM backfill.status;
SELECT partition, state, staged FROM backfill.partition ORDER BY ordinal;
SELECT action, version FROM backfill.history ORDER BY at;
SELECT m->>'state' AS state, jsonb_array_length(m->'evidence') > 0 AS evidence, jsonb_array_length(m->'history') AS history FROM backfill_manifest('a') m;
SELECT backfill_drop('a');
SELECT * FROM backfill_publish('a');
\echo :SQLSTATE
SELECT * FROM backfill_publish('a', again => true);
\echo :SQLSTATE
SELECT * FROM backfill_build('a');
\echo :SQLSTATE
SELECT * FROM backfill_validate('a');
\echo :SQLSTATE
SELECT * FROM backfill_rollback('a');
\echo :SQLSTATE
SELECT backfill_create('a', 't', 'SELECT d, k, 2 AS v FROM src', all_partitions => true, late_changes => 'ignore', "replace" => true);
\echo :SQLSTATE

--
-- Versions on top of each other
--
SELECT backfill_create('b', 't', 'SELECT d, k, 2 AS v FROM src', all_partitions => true, late_changes => 'ignore');
SELECT count(*) FROM backfill_build('b');
SELECT target, action, swapped FROM backfill_publish('b');
SELECT backfill_create('c', 't', 'SELECT d, k, 3 AS v FROM src', all_partitions => true, late_changes => 'ignore');
SELECT count(*) FROM backfill_build('c');
SELECT target, action, swapped, replaces FROM backfill_publish('c');
-- b's tables and, in them, the original ones
SELECT staging();
SELECT backfill_drop('b');
SELECT staging();
SELECT count(*) FROM t WHERE v = 3;
SELECT * FROM backfill_rollback('c');
\echo :SQLSTATE
SELECT backfill_create('e', 't', 'SELECT d, k, 4 AS v FROM src', all_partitions => true, late_changes => 'ignore');
SELECT count(*) FROM backfill_build('e');
SELECT target, action, swapped, replaces FROM backfill_publish('e');
SELECT target, action, swapped, replaces FROM backfill_rollback('e');
SELECT count(*) FROM t WHERE v = 3;
SELECT backfill_drop('e');
SELECT staging();

--
-- A version under one that was withdrawn
--
SELECT backfill_create('f', 't', 'SELECT d, k, 5 AS v FROM src', '2026-01-01', '2026-02-01', late_changes => 'ignore');
SELECT backfill_create('g', 't', 'SELECT d, k, 6 AS v FROM src', '2026-01-01', '2026-02-01', late_changes => 'ignore');
SELECT count(*) FROM backfill_build('f');
SELECT target, action, replaces FROM backfill_publish('f');
SELECT count(*) FROM backfill_build('g');
SELECT target, action, replaces FROM backfill_publish('g');
SELECT target, action, replaces FROM backfill_rollback(target => 't', "to" => 'c');
SELECT backfill_drop('f');
SELECT target, action, replaces FROM backfill_publish('g', again => true);
SELECT v, count(*) FROM t GROUP BY 1 ORDER BY 1;
SELECT target, action, replaces FROM backfill_rollback('g');
SELECT v, count(*) FROM t GROUP BY 1 ORDER BY 1;

--
-- Without its target a version can still be dropped, and nothing of it stays behind
--
SELECT target, action, replaces FROM backfill_publish('g', again => true);
RESET ROLE;
SET SESSION AUTHORIZATION regress_drop_owner;
SELECT backfill_create('h', 't', 'SELECT d, k, 7 AS v FROM src', all_partitions => true, late_changes => 'ignore');
SELECT count(*) FROM backfill_build('h');
DROP TABLE t;
SELECT * FROM backfill_build('h');
\echo :SQLSTATE
SELECT * FROM backfill_rollback('g');
\echo :SQLSTATE
SELECT count(*) FROM backfill.status;
RESET SESSION AUTHORIZATION;
SET ROLE regress_drop_other;
SELECT backfill_drop('h');
\echo :SQLSTATE
SELECT backfill_manifest('h') IS NOT NULL;
\echo :SQLSTATE
-- who created it may, and can still explain it
SET ROLE regress_drop_owner;
SELECT m->>'version', m->>'state', jsonb_array_length(m->'evidence') > 0 FROM backfill_manifest('h') m;
SELECT backfill_drop('h');
RESET ROLE;
SELECT version, state FROM backfill.status WHERE state <> 'dropped' ORDER BY 1;
SELECT backfill_drop('c'), backfill_drop('g');
SELECT version, state FROM backfill.status ORDER BY 1;
SELECT relname FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace;
SELECT count(*) FROM backfill.bf_mark;

SET client_min_messages = warning;
DROP SCHEMA drop_t CASCADE;
DROP EXTENSION backfill CASCADE;
DROP OWNED BY regress_drop_owner, regress_drop_other;
DROP ROLE regress_drop_owner, regress_drop_other;
