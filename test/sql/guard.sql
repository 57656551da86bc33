-- Guards: what is staged cannot be written by anybody, through any command; a write to a live partition is let through and
-- remembered, so that a version built before it is not published over it.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_guard_owner;
CREATE ROLE regress_guard_writer;
CREATE SCHEMA guard_t;
GRANT CREATE, USAGE ON SCHEMA guard_t TO regress_guard_owner;
GRANT USAGE ON SCHEMA guard_t TO regress_guard_writer;
SET search_path = guard_t, public;
SET ROLE regress_guard_owner;
CREATE TABLE t (d date, k int, v numeric, PRIMARY KEY (d, k)) PARTITION BY RANGE (d);
CREATE TABLE t_01 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE t_02 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE t_03 PARTITION OF t FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
GRANT ALL ON t, t_01 TO regress_guard_writer;
INSERT INTO t SELECT d::date, 1, 1 FROM generate_series(timestamp '2026-01-01', '2026-03-31', '1 day') d;
SELECT backfill_create('v', 't', 'SELECT d, k, v + 1 AS v FROM t', '2026-01-01', '2026-03-01', late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('v');
SELECT staged FROM backfill.partition WHERE version = 'v' AND ordinal = 1 \gset
-- the staged table's name changes from run to run
CREATE FUNCTION write(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE name text; detail text; hint text;
BEGIN
  SELECT staged INTO name FROM backfill.partition WHERE version = 'v' AND ordinal = 1;
  EXECUTE replace(command, 'STAGED', name);
  RETURN 'done';
EXCEPTION WHEN object_not_in_prerequisite_state THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
  RETURN concat_ws(E'\n', SQLSTATE || ' ' || regexp_replace(SQLERRM, '_b\d+', '_bN'), detail, hint);
END $$;

--
-- Staged tables are sealed
--
SELECT write($$INSERT INTO STAGED VALUES ('2026-01-05', 9, 9)$$);
SELECT write('UPDATE STAGED SET v = 0');
SELECT write('DELETE FROM STAGED');
SELECT write('TRUNCATE STAGED');
SELECT write('MERGE INTO STAGED s USING t_01 l ON s.d = l.d WHEN MATCHED THEN UPDATE SET v = 0');
SELECT write('INSERT INTO STAGED SELECT * FROM t_01 ON CONFLICT DO NOTHING');
RESET ROLE;
SELECT write('COPY STAGED FROM PROGRAM ''echo 2026-01-05,9,9'' (FORMAT csv)');
-- not even with triggers of users switched off
SET session_replication_role = replica;
SELECT write('DELETE FROM STAGED');
SELECT write('TRUNCATE STAGED');
RESET session_replication_role;
SET ROLE regress_guard_owner;
SELECT count(*), sum(v) FROM :staged;
SET ROLE regress_guard_writer;
SELECT has_table_privilege(:'staged', 'INSERT') AS as_the_leaf, has_schema_privilege('backfill_staging', 'CREATE') AS may_create;
SET ROLE regress_guard_owner;

--
-- A write to a live partition marks it, once a transaction, whoever writes and however
--
RESET ROLE;
CREATE FUNCTION marks() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$
  SELECT coalesce(string_agg(name || ':' || n, ' ' ORDER BY name), 'none')
    FROM (SELECT relid::regclass::text AS name, count(*) AS n FROM backfill.bf_mark WHERE relid::regclass::text ~ '^t_' GROUP BY 1) m $$;
SET ROLE regress_guard_owner;
SELECT marks();
SELECT marks() FROM t WHERE v > 1000;
UPDATE t SET v = 2 WHERE d = '2026-01-05';
SELECT marks();
-- a partition that no version covers
UPDATE t SET v = 2 WHERE d = '2026-03-05';
DELETE FROM t_02 WHERE d = '2026-02-05';
SELECT marks();
UPDATE t SET v = 2 WHERE false;
SELECT marks();
BEGIN;
INSERT INTO t VALUES ('2026-01-05', 2, 1);
INSERT INTO t VALUES ('2026-01-05', 3, 1);
SELECT marks();
COMMIT;
BEGIN;
SAVEPOINT s;
INSERT INTO t VALUES ('2026-01-05', 4, 1);
ROLLBACK TO s;
SELECT marks();
INSERT INTO t VALUES ('2026-01-05', 5, 1);
SELECT marks();
ROLLBACK;
SELECT marks();
-- what remembers them does not grow with the number of subtransactions
RESET ROLE;
DO $$
DECLARE n bigint;
BEGIN
  FOR i IN 1..100 LOOP
    BEGIN
      INSERT INTO guard_t.t VALUES ('2026-01-05', 4, 1);
      RAISE division_by_zero;
    EXCEPTION WHEN division_by_zero THEN
    END;
  END LOOP;
  SELECT count(*) INTO n FROM pg_backend_memory_contexts WHERE name = 'backfill marks';
  RAISE NOTICE 'kept: %', n;
END $$;
SET ROLE regress_guard_owner;
-- a row that moves leaves two marks
UPDATE t SET d = '2026-02-05' WHERE d = '2026-01-05' AND k = 2;
SELECT marks();
TRUNCATE t_02;
SELECT marks();
SET ROLE regress_guard_writer;
INSERT INTO t VALUES ('2026-01-06', 9, 1);
DELETE FROM t_01 WHERE k = 9;
SET ROLE regress_guard_owner;
SELECT marks();
RESET ROLE;
SET session_replication_role = replica;
UPDATE t SET v = 3 WHERE d = '2026-01-05';
RESET session_replication_role;
SELECT marks();

-- detached for a moment it is still marked
BEGIN;
ALTER TABLE t DETACH PARTITION t_02;
INSERT INTO t_02 VALUES ('2026-02-01', 1, 1);
ALTER TABLE t ATTACH PARTITION t_02 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
SELECT marks();
ROLLBACK;

--
-- backfill.guard() is no trigger function for others
--
SELECT backfill.guard();
\echo :SQLSTATE
SET ROLE regress_guard_owner;
CREATE TABLE other (a int);
CREATE TRIGGER mine BEFORE INSERT ON other FOR EACH ROW EXECUTE FUNCTION backfill.guard();
INSERT INTO other VALUES (1);
SELECT * FROM other;

-- what was written while guards were off nobody knows: putting them back counts as a write
SELECT partition, state FROM backfill_build('v');
ALTER TABLE t_01 DISABLE TRIGGER USER;
UPDATE t SET v = 4 WHERE d = '2026-01-05';
ALTER TABLE t_01 ENABLE TRIGGER USER;
SELECT marks();
SELECT backfill_create('x', 't', 'SELECT d, k, v FROM t', '2026-01-01', '2026-02-01', late_changes => 'ignore');
SELECT marks();
SELECT gate, result, new, worst FROM backfill_validate('v') WHERE result = 'failed';
SELECT backfill_drop('x');

--
-- Guards stay while a version needs them, and go with the last
--
CREATE FUNCTION guarded() RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(string_agg(DISTINCT tgrelid::regclass::text, ' ' ORDER BY tgrelid::regclass::text), 'none')
    FROM pg_trigger WHERE tgname ~ '^backfill_guard' AND tgrelid::regclass::text !~ 'backfill_staging' $$;
SELECT backfill_create('w', 't', 'SELECT d, k, v FROM t', '2026-02-01', '2026-04-01', late_changes => 'ignore');
SELECT guarded();
SELECT backfill_drop('v');
SELECT guarded();
SELECT backfill_drop('w');
SELECT guarded(), marks();
INSERT INTO t VALUES ('2026-01-06', 10, 1);
SELECT marks();

RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA guard_t CASCADE;
DROP OWNED BY regress_guard_owner, regress_guard_writer;
DROP ROLE regress_guard_owner, regress_guard_writer;
