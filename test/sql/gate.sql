-- Gates: what they measure, old and new side by side, when each is red, and that nothing red is published.  Evidence counts only
-- for the data it was measured on.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_gate_owner;
CREATE ROLE regress_gate_other;
CREATE SCHEMA gate_t;
GRANT CREATE, USAGE ON SCHEMA gate_t TO regress_gate_owner;
SET search_path = gate_t, public;
SET ROLE regress_gate_owner;

CREATE TABLE t (d date NOT NULL, k int NOT NULL, v numeric, note text, PRIMARY KEY (d, k)) PARTITION BY RANGE (d);
CREATE TABLE t_01 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE t_02 (note text, v numeric, k int NOT NULL, d date NOT NULL);
ALTER TABLE t ATTACH PARTITION t_02 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE t_03 PARTITION OF t FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
INSERT INTO t SELECT date '2026-01-01' + i % 59, i, i, 'n' FROM generate_series(0, 117) i;
-- the rules below start from a copy of what is live
CREATE TABLE src AS SELECT * FROM t;
\set same 'SELECT d, k, v, note FROM src'

--
-- All gates of a version whose rows are those that are live: nothing differs, nothing would be swapped
--
SELECT backfill_create('same', 't', :'same', all_partitions => true, late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('same');
SELECT * FROM backfill_validate('same');
SELECT gate, partition, result, old, new, difference, expect, samples FROM backfill.evidence WHERE version = 'same' AND gate ~ 'row|key'
 ORDER BY gate, partition, measured_at LIMIT 8;
SELECT gates FROM backfill.status WHERE version = 'same';
SELECT backfill_drop('same');

--
-- Comparison gates: lost, gained, changed and fewer rows, with sample keys
--
SELECT backfill_create('differs', 't',
       'SELECT d, k, v + (k % 2) AS v, note FROM src WHERE k <> 3 UNION ALL SELECT ''2026-03-05'', 1000 + i, 1, ''new'' FROM generate_series(1, 12) i',
       all_partitions => true, late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('differs');
SELECT * FROM backfill_validate('differs');
SELECT gate, partition, result, old, new, difference, expect, samples FROM (SELECT DISTINCT ON (gate, partition) * FROM backfill.evidence
 WHERE version = 'differs' AND gate ~ 'row count|lost|gained' ORDER BY gate, partition, measured_at DESC) e ORDER BY gate, partition;
SELECT * FROM backfill_publish('differs');
\echo :SQLSTATE
-- limits of the version
SELECT backfill_create('limits', 't', 'SELECT d, k, v, note FROM src WHERE k < 90 UNION ALL SELECT ''2026-01-05'', 1000, 1, ''new''',
       all_partitions => true, late_changes => 'ignore', max_lost_keys => 27, max_gained_keys => 0, max_shrink => '23.7%');
SELECT partition, rows FROM backfill_build('limits');
SELECT gate, result, old, new, difference, expect, worst FROM backfill_validate('limits') WHERE gate ~ 'row count|lost|gained';
SELECT backfill_create('limits', 't', 'SELECT d, k, v, note FROM src WHERE k < 90 UNION ALL SELECT ''2026-01-05'', 1000, 1, ''new''',
       all_partitions => true, late_changes => 'ignore', max_lost_keys => NULL, max_gained_keys => 1, max_shrink => NULL, "replace" => true);
SELECT partition, rows FROM backfill_build('limits');
SELECT gate, result, old, new, difference, expect, worst FROM backfill_validate('limits') WHERE gate ~ 'row count|lost|gained';
-- a filled partition that becomes empty is red whatever may shrink; empty to empty is not
SELECT backfill_create('emptied', 't', 'SELECT d, k, v, note FROM src WHERE d < ''2026-02-01''', all_partitions => true, late_changes => 'ignore',
       max_lost_keys => NULL, max_shrink => '100%');
SELECT partition, rows FROM backfill_build('emptied');
SELECT gate, result, old, new, difference, expect, worst FROM backfill_validate('emptied') WHERE gate ~ 'row count|lost|gained';
SELECT * FROM backfill_publish('emptied');
\echo :SQLSTATE
SELECT backfill_drop('limits'), backfill_drop('emptied');

--
-- Rejections
--
ALTER TABLE t_01 ADD CONSTRAINT small CHECK (v < 100000);
SELECT backfill_create('rejects', 't', 'SELECT d, k, CASE WHEN k = 5 THEN 100000 ELSE v END AS v, note FROM src', all_partitions => true,
       late_changes => 'ignore', max_rejections => 1, max_lost_keys => 1);
SELECT partition, rows, rejected FROM backfill_build('rejects');
SELECT gate, result, partitions, old, new, difference, expect, worst FROM backfill_validate('rejects') WHERE gate ~ 'rejections|lost';
SELECT backfill_drop('rejects');
ALTER TABLE t_01 DROP CONSTRAINT small;

--
-- Integrity gates: key not null, key unique, live unchanged, definition unchanged
--
CREATE TABLE loose (d date, k int, v numeric) PARTITION BY RANGE (d);
CREATE TABLE loose_01 PARTITION OF loose FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO loose SELECT d, k, v FROM src WHERE d < '2026-02-01';
SELECT backfill_create('nulls', 'loose', 'SELECT d, nullif(k, 7) AS k, v FROM src WHERE k < 60 UNION ALL SELECT d, k, 0 FROM src WHERE k IN (3, 4)',
       all_partitions => true, key => '{d,k}', late_changes => 'ignore');
SELECT partition, rows FROM backfill_build('nulls');
SELECT gate, result, partitions, old, new, difference, expect, worst FROM backfill_validate('nulls') WHERE gate ~ 'key';
SELECT gate, samples FROM backfill.evidence WHERE version = 'nulls' AND gate IN ('key not null', 'key unique', 'lost keys') ORDER BY measured_at DESC, gate LIMIT 3;
SELECT * FROM backfill_publish('nulls');
\echo :SQLSTATE
SELECT backfill_waive('nulls', 'key unique', 'we know');
\echo :SQLSTATE
SELECT gates, next_step FROM backfill.status WHERE version = 'nulls';
SELECT backfill_drop('nulls');

-- a rewrite fires no trigger, and may change every row
SELECT backfill_create('rewritten', 'loose', 'SELECT d, k, v FROM src', all_partitions => true, key => '{d,k}', late_changes => 'ignore');
SELECT partition, rows FROM backfill_build('rewritten');
ALTER TABLE loose ALTER v TYPE numeric USING v + 1;
SELECT gate, result, new, expect, worst FROM backfill_validate('rewritten') WHERE result = 'failed';
SELECT * FROM backfill_publish('rewritten');
\echo :SQLSTATE
SELECT partition, rows FROM backfill_build('rewritten');
SELECT gate, result, new, expect, worst FROM backfill_validate('rewritten') WHERE result = 'failed';
-- nor does a guard that is switched off for a while
ALTER TABLE loose_01 DISABLE TRIGGER backfill_guard;
UPDATE loose SET v = v WHERE k = 1;
ALTER TABLE loose_01 ENABLE ALWAYS TRIGGER backfill_guard;
SELECT * FROM backfill_publish('rewritten');
\echo :SQLSTATE
SELECT gate, result, new, expect, worst FROM backfill_validate('rewritten') WHERE result = 'failed';
SELECT * FROM backfill_publish('rewritten');
\echo :SQLSTATE
SELECT partition, rows FROM backfill_build('rewritten');
SELECT gate, result, new, expect, worst FROM backfill_validate('rewritten') WHERE result = 'failed';
SELECT backfill_drop('rewritten');
ALTER TABLE loose ALTER v TYPE numeric USING v - 1;

SELECT backfill_create('moved', 't', 'SELECT d, k, v + 1 AS v, note FROM src', all_partitions => true, late_changes => 'ignore');
SELECT partition, rows FROM backfill_build('moved');
UPDATE t SET note = 'late' WHERE k = 31;
SELECT gate, result, partitions, old, new, expect, worst FROM backfill_validate('moved') WHERE result = 'failed';
SELECT * FROM backfill_publish('moved');
\echo :SQLSTATE
SELECT partition, state FROM backfill_build('moved');
SELECT gate, result FROM backfill_validate('moved') WHERE result = 'failed';
-- a change of what a partition is
CREATE INDEX t_01_v ON t_01 (v);
SELECT gate, result, partitions, old, new, expect, worst FROM backfill_validate('moved') WHERE result = 'failed';
SELECT * FROM backfill_publish('moved');
\echo :SQLSTATE
SELECT partition, state FROM backfill_build('moved');
SELECT gate, result FROM backfill_validate('moved') WHERE result = 'failed';
ALTER TABLE t ALTER note SET DEFAULT 'x';
SELECT gate, result, partitions, old, new, expect, worst FROM backfill_validate('moved') WHERE result = 'failed';
ALTER TABLE t ALTER note DROP DEFAULT;
CREATE STATISTICS t_02_late ON d, k FROM t_02;
SELECT gate, result, partitions, old, new, expect, worst FROM backfill_validate('moved') WHERE result = 'failed';
DROP STATISTICS t_02_late;
ALTER TABLE t_02 SET (fillfactor = 80);
SELECT gate, result, partitions, old, new, expect, worst FROM backfill_validate('moved') WHERE result = 'failed';
ALTER TABLE t_02 RESET (fillfactor);
SELECT gate, result FROM backfill_validate('moved') WHERE result = 'failed';
GRANT SELECT ON t_02 TO regress_gate_other;
SELECT gate, result, partitions, old, new, expect, worst FROM backfill_validate('moved') WHERE result = 'failed';
REVOKE SELECT ON t_02 FROM regress_gate_other;
SELECT backfill_drop('moved');

-- built and bounds: only somebody who goes around the seals can make them red
SELECT backfill_create('broken', 't', 'SELECT d, k, v + 1 AS v, note FROM src', '2026-01-01', '2026-02-01', late_changes => 'ignore');
SELECT partition, rows FROM backfill_build('broken');
SELECT staged FROM backfill.partition WHERE version = 'broken' \gset
ALTER TABLE :staged DISABLE TRIGGER USER;
ALTER TABLE :staged DROP CONSTRAINT backfill_bound;
INSERT INTO :staged VALUES ('2030-01-01', 1, 1, 'outside');
SELECT gate, result, new, expect, worst FROM backfill_validate('broken') WHERE result = 'failed';
SELECT * FROM backfill_publish('broken');
\echo :SQLSTATE
DROP TABLE :staged;
SELECT gate, result, new, expect, worst FROM backfill_validate('broken') WHERE result <> 'passed';
SELECT * FROM backfill_publish('broken');
\echo :SQLSTATE
SELECT partition, state, rows FROM backfill_build('broken');
SELECT gate, result FROM backfill_validate('broken') WHERE result = 'failed';
SELECT backfill_drop('broken');

--
-- No key: rows are compared as a multiset, key gates do not apply
--
SELECT backfill_create('keyless', 'loose', 'SELECT d, k, v FROM src WHERE k <> 3 UNION ALL SELECT d, k, v FROM src WHERE k = 4', all_partitions => true,
       key => '{}', late_changes => 'ignore', max_lost_keys => 1);
SELECT partition, state, rows FROM backfill_build('keyless');
SELECT gate, result, partitions, old, new, difference, expect, worst FROM backfill_validate('keyless') WHERE gate !~ 'unchanged|bounds';
SELECT gate, samples FROM backfill.evidence WHERE version = 'keyless' AND gate IN ('lost keys', 'gained keys') ORDER BY measured_at DESC, gate LIMIT 2;
SELECT backfill_create('keyless-same', 'loose', 'SELECT d, k, v FROM src', all_partitions => true, key => '{}', late_changes => 'ignore');
SELECT partition, state FROM backfill_build('keyless-same');
SELECT backfill_drop('keyless'), backfill_drop('keyless-same');

--
-- First publication: created and empty partitions have no baseline, which does not block
--
SELECT backfill_create('first', 't', 'SELECT d, k, v, note FROM src WHERE d >= ''2026-02-01'' UNION ALL SELECT ''2026-03-05'', 1, 1, ''x'' UNION ALL SELECT ''2026-04-05'', 1, 1, ''x''',
       '2026-02-01', '2026-05-01', gaps => 'create', step => '1 month', late_changes => 'ignore');
SELECT backfill_add_gate('first', 'total v', total => 'sum(v)');
SELECT partition, state, rows FROM backfill_build('first');
SELECT gate, result, partitions, old, new, difference, expect, worst FROM backfill_validate('first');
SELECT gate, partition, result FROM (SELECT DISTINCT ON (gate, partition) * FROM backfill.evidence WHERE version = 'first'
 ORDER BY gate, partition, measured_at DESC) e WHERE gate ~ 'row count|lost|total' ORDER BY gate, partition;
SELECT backfill_drop('first');

--
-- Values: by their image, NULL and NaN are values
--
CREATE TABLE vals (k int PRIMARY KEY, n numeric, f float8, j jsonb, x json, p point) PARTITION BY RANGE (k);
CREATE TABLE vals_0 PARTITION OF vals FOR VALUES FROM (0) TO (100);
INSERT INTO vals VALUES (1, 1.0, 0.0, '{"a": 1}', '{"a": 1}', '(1,1)'), (2, 'NaN', 'NaN', NULL, NULL, NULL), (3, NULL, NULL, 'null', '[]', '(0,0)'),
                        (4, 2.50, 'Infinity', '[]', '{}', NULL);
CREATE FUNCTION compare(rule text) RETURNS TABLE (partition text, state text, difference text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  PERFORM backfill_create('vals', 'vals', rule, all_partitions => true, late_changes => 'ignore', "replace" => true);
  PERFORM backfill_build('vals');
  RETURN QUERY SELECT p.partition::text, p.state, v.difference FROM backfill.partition p, backfill_validate('vals') v
                WHERE p.version = 'vals' AND v.gate = 'row count';
END $$;
SET client_min_messages = warning;
SELECT * FROM compare('SELECT * FROM vals');
SELECT * FROM compare('SELECT k, CASE k WHEN 1 THEN 1.00 ELSE n END AS n, f, j, x, p FROM vals');
SELECT * FROM compare('SELECT k, CASE k WHEN 2 THEN NULL ELSE n END AS n, f, j, x, p FROM vals');
SELECT * FROM compare('SELECT k, n, CASE k WHEN 1 THEN ''-0''::float8 WHEN 2 THEN NULL ELSE f END AS f, j, x, p FROM vals');
SELECT * FROM compare('SELECT k, n, f, j, CASE k WHEN 1 THEN ''{"a":1}'' ELSE x::text END::json AS x, p FROM vals');
SELECT * FROM compare('SELECT k, n, f, j, x, CASE k WHEN 4 THEN point(0, 0) ELSE p END AS p FROM vals');
SELECT backfill_drop('vals');
RESET client_min_messages;

--
-- backfill_add_gate: every form of expect
--
INSERT INTO src VALUES ('2026-01-01', 500, 3, 'more');
SELECT backfill_create('totals', 't', 'SELECT d, k, v * 1.03 AS v, note FROM src', '2026-01-01', '2026-03-01', late_changes => 'ignore');
SELECT partition, state FROM backfill_build('totals');
SELECT backfill_add_gate('totals', 'equal', total => 'sum(v)');
SELECT backfill_add_gate('totals', 'equal min', total => 'min(k)', expect => 'equal');
SELECT backfill_add_gate('totals', 'within 2', total => 'sum(v)', expect => 'within 2%');
SELECT backfill_add_gate('totals', 'within 3.5', total => 'sum(v)', expect => '  WITHIN 3.5 %  ');
SELECT backfill_add_gate('totals', 'between', total => 'sum(v)', expect => 'between 2% and 4%');
SELECT backfill_add_gate('totals', 'between down', total => 'sum(v)', expect => 'between -4% and -2%');
SELECT backfill_add_gate('totals', 'true', total => 'bool_and(v >= 0)', expect => 'true');
SELECT backfill_add_gate('totals', 'not true', total => 'bool_and(v > 20)', expect => 'true');
SELECT backfill_add_gate('totals', 'condition', total => 'max(v)', expect => 'new < old * 1.05 AND new > 0');
SELECT backfill_add_gate('totals', 'condition red', total => 'max(v)', expect => 'new < old');
SELECT backfill_add_gate('totals', 'new only', total => 'count(DISTINCT note)', expect => 'new BETWEEN 1 AND 3');
SELECT backfill_add_gate('totals', 'text', total => 'max(note)', expect => 'new >= old');
SELECT backfill_add_gate('totals', 'filter', total => 'sum(v) FILTER (WHERE k % 2 = 0) / count(*)', expect => 'between 1% and 4%');
SELECT backfill_add_gate('totals', 'whole', total => 'sum(v)', expect => 'between 2% and 4%', scope => 'version');
SELECT backfill_add_gate('totals', 'whole red', total => 'count(*)', scope => 'version');
SELECT backfill_add_gate('totals', 'note', total => 'count(*)', required => false);
SELECT backfill_add_gate('totals', 'overflow', total => 'sum(v::int * 1000000000)', expect => 'equal');
SELECT backfill_add_gate('totals', 'null', total => 'sum(v) FILTER (WHERE false)', expect => 'within 0%');
SELECT gate, result, partitions, old, new, difference, expect, worst FROM backfill_validate('totals') WHERE gate !~ 'key|unchanged|built|bounds|reject';
SELECT name, kind, expression, expect, scope, required FROM (SELECT jsonb_array_elements(backfill_manifest('totals')->'gates')) x(g),
       jsonb_to_record(g) AS (name text, kind text, expression text, expect text, scope text, required boolean) ORDER BY kind, name;
SELECT * FROM backfill_publish('totals');
\echo :SQLSTATE

--
-- Added again: the same does no harm, another replaces it and voids what was measured; a build stays
--
SELECT backfill_add_gate('totals', 'equal', total => 'sum(v)');
SELECT backfill_add_gate('totals', 'equal', total => 'sum(v)', expect => 'within 5%');
SELECT * FROM backfill_publish('totals');
\echo :SQLSTATE
SELECT state, built FROM backfill.status WHERE version = 'totals';

--
-- Mistakes are found when the gate is added
--
SELECT backfill_add_gate('unknown', 'g', total => 'sum(v)');
\echo :SQLSTATE
SELECT backfill_add_gate(NULL, 'g', total => 'sum(v)');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', NULL, total => 'sum(v)');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', '', total => 'sum(v)');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', repeat('x', 64), total => 'sum(v)');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'lost keys', total => 'sum(v)');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', query => 'SELECT 1', expect => 'empty');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(w)');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'v');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => '1');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v), sum(k)');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v) FROM t');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v); DELETE FROM t');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum((SELECT 1))');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v * random())');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(sum(v)) OVER ()');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'generate_series(1, count(*))');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'array_agg(ROW(k, v))');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'max(ctid::text)');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => NULL);
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => '');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => 'empty');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => 'true');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => 'within two');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => 'within -2%');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => 'between 4% and 2%');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => 'between 4%');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'max(note)', expect => 'within 2%');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => 'new');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => 'new > older');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', expect => 'new > max(old)');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', scope => 'row');
\echo :SQLSTATE
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)', scope => NULL);
\echo :SQLSTATE
SET ROLE regress_gate_other;
SELECT backfill_add_gate('totals', 'g', total => 'sum(v)');
\echo :SQLSTATE
SELECT backfill_waive('totals', 'equal', 'why');
\echo :SQLSTATE
SELECT * FROM backfill_validate('totals');
\echo :SQLSTATE
SET ROLE regress_gate_owner;

--
-- Waivers: with a reason, of comparison gates and totals only, on record
--
SELECT backfill_create('waived', 't', 'SELECT d, k, v, note FROM src WHERE k > 0', '2026-01-01', '2026-02-01', late_changes => 'ignore');
SELECT backfill_add_gate('waived', 'numbers', total => 'sum(k)');
SELECT partition, state FROM backfill_build('waived');
SELECT gate, result FROM backfill_validate('waived') WHERE result = 'failed';
SELECT backfill_waive('waived', 'lost keys', '');
\echo :SQLSTATE
SELECT backfill_waive('waived', 'lost keys', E' \n');
\echo :SQLSTATE
SELECT backfill_waive('waived', 'lost keys', NULL);
\echo :SQLSTATE
SELECT backfill_waive('waived', 'no such', 'why');
\echo :SQLSTATE
SELECT backfill_waive('waived', 'live unchanged', 'why');
\echo :SQLSTATE
SELECT backfill_waive('unknown', 'lost keys', 'why');
\echo :SQLSTATE
SELECT backfill_waive(NULL, 'lost keys', 'why');
\echo :SQLSTATE
SELECT backfill_waive('waived', 'lost keys', 'key 0 was a test');
SELECT backfill_waive('waived', 'lost keys', 'key 0 was a test');
SELECT * FROM backfill_publish('waived');
\echo :SQLSTATE
SELECT backfill_waive('waived', 'numbers', 'the test counted');
SELECT gate, result FROM backfill_validate('waived') WHERE result IN ('failed', 'waived');
SELECT name, waived_reason, waived_by = session_user AS by_me, waived_at IS NOT NULL AS at
  FROM (SELECT jsonb_array_elements(backfill_manifest('waived')->'gates')) x(g),
       jsonb_to_record(g) AS (name text, waived_reason text, waived_by text, waived_at timestamptz) WHERE waived_reason IS NOT NULL ORDER BY 1;
SELECT gates FROM backfill.status WHERE version = 'waived';
-- without being measured again, too
SELECT target, action, swapped FROM backfill_publish('waived');
SELECT target, action, swapped FROM backfill_rollback('waived');
-- a gate that is not required warns
SELECT backfill_create('optional', 't', 'SELECT d, k, v + 1 AS v, note FROM src', '2026-02-01', '2026-03-01', late_changes => 'ignore');
SELECT backfill_add_gate('optional', 'numbers', total => 'sum(v)', required => false);
SELECT partition, state FROM backfill_build('optional');
SELECT target, action, swapped FROM backfill_publish('optional');
SELECT gates FROM backfill.status WHERE version = 'optional';
SELECT target, action, swapped FROM backfill_rollback('optional');
-- another definition of a gate takes its waiver away
SELECT backfill_create('waived2', 't', 'SELECT d, k, v, note FROM src', '2026-01-01', '2026-02-01', late_changes => 'ignore');
SELECT backfill_add_gate('waived2', 'numbers', total => 'sum(k)');
SELECT backfill_waive('waived2', 'numbers', 'before it is built');
SELECT backfill_add_gate('waived2', 'numbers', total => 'sum(k)', expect => 'within 1%');
SELECT partition, state FROM backfill_build('waived2');
SELECT gate, result FROM backfill_validate('waived2') WHERE result IN ('failed', 'waived');

--
-- What has not been built cannot be validated
--
SELECT backfill_create('unbuilt', 't', :'same', all_partitions => true, late_changes => 'ignore');
SELECT * FROM backfill_validate('unbuilt');
\echo :SQLSTATE
SELECT * FROM backfill_validate('unknown');
\echo :SQLSTATE
SELECT * FROM backfill_validate(NULL);
\echo :SQLSTATE

RESET ROLE;
SET client_min_messages = warning;
SELECT count(backfill_drop(version)) > 0 AS dropped FROM backfill.status;
DROP SCHEMA gate_t CASCADE;
DROP EXTENSION backfill CASCADE;
DROP OWNED BY regress_gate_owner, regress_gate_other;
DROP ROLE regress_gate_owner, regress_gate_other;
