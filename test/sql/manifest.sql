-- The manifest is the whole record of a version: what was asked, what it read and when, what came of it, and what happened since.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_manifest_owner;
CREATE ROLE regress_manifest_other;
CREATE SCHEMA manifest_t;
GRANT CREATE, USAGE ON SCHEMA manifest_t TO regress_manifest_owner;
SET search_path = manifest_t, public;
SET ROLE regress_manifest_owner;
CREATE TABLE src AS SELECT date '2026-01-01' + i % 59 AS d, i AS k, i::numeric AS v FROM generate_series(0, 117) i;
CREATE TABLE t (d date, k int, v numeric, PRIMARY KEY (d, k)) PARTITION BY RANGE (d);
CREATE TABLE t_01 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE t_02 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO t SELECT * FROM src;
SET intervalstyle = 'iso_8601';
SET extra_float_digits = 0;
SELECT backfill_create('m', 't', $$SELECT d, k, v * (parameters->>'rate')::numeric AS v FROM src WHERE d >= partition_from AND d < partition_to AND d <= current_date + 10000$$,
       '2026-01-01', '2026-03-01', parameters => '{"rate": "1.5"}', code_revision => 'a1b2c3d', late_changes => 'block', max_rejections => 2);
RESET intervalstyle;
RESET extra_float_digits;
SELECT backfill_add_gate('m', 'total', total => 'sum(v)', expect => 'between 40% and 60%');
SELECT backfill_waive('m', 'gained keys', 'new stores');

-- before the build
SELECT key FROM jsonb_object_keys(backfill_manifest('m')) key ORDER BY 1;
SELECT m->>'version' AS version, m->>'state' AS state, m->>'code_revision' AS code_revision, m->'parameters' AS parameters, m->>'pin' AS pin,
       m->'created_by' = to_jsonb(session_user) AS by_me, (m->>'created_at')::timestamptz <= clock_timestamp() AS at,
       jsonb_array_length(m->'evidence') AS evidence, m->'history' AS history
  FROM backfill_manifest('m') m;
SELECT key, value FROM jsonb_each(backfill_manifest('m')->'settings') WHERE key NOT LIKE 'lc%' ORDER BY 1;
SELECT m->'stable_functions' AS stable, m->'volatile_functions' AS volatile FROM backfill_manifest('m') m;

-- after it
SELECT count(*) FROM backfill_build('m');
SELECT p.* FROM backfill_manifest('m') m, jsonb_to_recordset(m->'partitions') AS p (name text, bound text, state text, live text, rows int, rejected int, attempts int)
 ORDER BY name;
SELECT p.name, p.staged ~ '^backfill_staging' AS staged, p.fingerprint ~ '^\d+$' AS fingerprint, p.bytes > 0 AS bytes, p.elapsed >= '0' AS elapsed
  FROM backfill_manifest('m') m, jsonb_to_recordset(m->'partitions') AS p (name text, staged text, fingerprint text, bytes bigint, elapsed interval) ORDER BY 1;
-- the fingerprint does not depend on the order of the rows, only on what they hold
SELECT backfill_create('order', 't', $$SELECT d, k, v * 1.5 AS v FROM src ORDER BY md5(k::text)$$, all_partitions => true, late_changes => 'ignore');
SELECT backfill_create('other', 't', $$SELECT d, k, v * 1.50 AS v FROM src$$, all_partitions => true, late_changes => 'ignore');
SELECT count(*) FROM backfill_build('order');
SELECT count(*) FROM backfill_build('other');
SELECT p.name, p.fingerprint = o.fingerprint AS same_rows, p.fingerprint = x.fingerprint AS other_scale
  FROM jsonb_to_recordset(backfill_manifest('m')->'partitions') AS p (name text, fingerprint text)
  JOIN jsonb_to_recordset(backfill_manifest('order')->'partitions') AS o (name text, fingerprint text) USING (name)
  JOIN jsonb_to_recordset(backfill_manifest('other')->'partitions') AS x (name text, fingerprint text) USING (name) ORDER BY 1;
SELECT p->'sources' AS sources FROM (SELECT jsonb_set(backfill_manifest('m')->'pin', '{sources,0,oid}', '0') AS p) m;
SELECT g.* FROM backfill_manifest('m') m, jsonb_to_recordset(m->'gates') AS g (name text, kind text, expression text, expect text, waived_reason text)
 WHERE kind = 'total' OR waived_reason IS NOT NULL ORDER BY 1;
SELECT DISTINCT e.* FROM backfill_manifest('m') m, jsonb_to_recordset(m->'evidence') AS e (gate text, partition text, result text, old text, new text, difference text, expect text)
 WHERE gate IN ('total', 'row count') ORDER BY 1, 2;

-- after publication and withdrawal
SELECT target, action FROM backfill_publish('m');
SELECT target, action FROM backfill_rollback('m');
SELECT h.*, m->>'state' AS state FROM backfill_manifest('m') m, jsonb_to_recordset(m->'history') AS h (action text, replaces text, swapped int, unchanged int, created int, overrides jsonb);
SELECT bool_and(h.at <= clock_timestamp()) AS at, bool_and(h.by = session_user) AS by_me FROM backfill_manifest('m') m, jsonb_to_recordset(m->'history') AS h (at timestamptz, by text);

SELECT backfill_manifest('unknown');
\echo :SQLSTATE
SELECT backfill_manifest(NULL) IS NULL AS nothing;
SET ROLE regress_manifest_other;
SELECT backfill_manifest('m');
\echo :SQLSTATE
-- it may be read in a read-only transaction, in any isolation level
SET ROLE regress_manifest_owner;
BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY;
SELECT backfill_manifest('m')->>'version' AS version;
COMMIT;

RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA manifest_t CASCADE;
DROP EXTENSION backfill CASCADE;
DROP OWNED BY regress_manifest_owner, regress_manifest_other;
DROP ROLE regress_manifest_owner, regress_manifest_other;
