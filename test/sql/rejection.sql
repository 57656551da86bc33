-- A row of the rule that breaks a bound, NOT NULL or CHECK of its partition is kept aside with the reason, up to max_rejections;
-- the next one fails the build with the row in the error.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_rejection_owner;
CREATE ROLE regress_rejection_other;
CREATE SCHEMA rejection_t;
GRANT CREATE, USAGE ON SCHEMA rejection_t TO regress_rejection_owner, regress_rejection_other;
SET search_path = rejection_t, public;
SET ROLE regress_rejection_owner;
CREATE TABLE t (d date NOT NULL, k int NOT NULL, v numeric CONSTRAINT v_positive CHECK (v > 0),
                twice numeric GENERATED ALWAYS AS (v * 2) STORED CONSTRAINT twice_small CHECK (twice < 100), note text) PARTITION BY RANGE (d);
CREATE TABLE t_01 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE t_02 (extra text, d date NOT NULL, k int NOT NULL, v numeric CONSTRAINT v_positive CHECK (v > 0),
                   twice numeric GENERATED ALWAYS AS (v * 2) STORED CONSTRAINT twice_small CHECK (twice < 100), note text);
ALTER TABLE t_02 DROP COLUMN extra;
ALTER TABLE t ATTACH PARTITION t_02 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
ALTER TABLE t_02 ADD CONSTRAINT here_only CHECK (note <> 'never'), ADD CONSTRAINT not_valid CHECK (note <> 'rarely') NOT VALID,
  ALTER note SET NOT NULL;
CREATE TABLE src (d date, k int, v numeric, note text);
INSERT INTO src VALUES ('2026-01-05', 1, 1, 'good'), ('2026-01-06', NULL, 1, 'no key'), ('2026-01-07', 3, -1, 'negative'),
  ('2026-01-08', 4, NULL, 'NULL passes a CHECK'), ('2026-01-09', 5, 70, 'twice too much'), ('2026-02-05', 6, 1, 'good'),
  ('2026-02-06', 7, 1, 'never'), ('2026-02-07', 8, 1, 'rarely'), ('2026-02-08', 9, 1, NULL);
\set rule 'SELECT d, k, v, note FROM src'

--
-- None is allowed by default: the first one fails the build
--
SELECT backfill_create('none', 't', :'rule' || ' ORDER BY k NULLS FIRST', all_partitions => true, key => '{d,k}', late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('none');
\echo :SQLSTATE
SELECT * FROM backfill.rejection;
SELECT state, built FROM backfill.status WHERE version = 'none';

--
-- Up to max_rejections in each partition are kept aside
--
SELECT backfill_create('some', 't', :'rule', all_partitions => true, key => '{d,k}', late_changes => 'ignore', max_rejections => 3);
SELECT partition, state, rows, rejected, error FROM backfill_build('some');
SELECT partition, reason, row FROM backfill.rejection WHERE version = 'some' ORDER BY partition, row->>'d';
SELECT backfill_create('few', 't', :'rule' || ' ORDER BY d', all_partitions => true, key => '{d,k}', late_changes => 'ignore', max_rejections => 2);
SELECT partition, state, rows, rejected FROM backfill_build('few');
\echo :SQLSTATE

--
-- A rule that names bounds is not filtered: a row outside is rejected, one without a key too
--
SELECT backfill_create('bounds', 't', 'SELECT d, 1 AS k, 1 AS v, ''x'' AS note FROM src WHERE d >= partition_from', all_partitions => true,
       key => '{d}', late_changes => 'ignore', max_rejections => 10);
SELECT partition, rows, rejected FROM backfill_build('bounds');
SELECT partition, reason, row FROM backfill.rejection WHERE version = 'bounds' ORDER BY row->>'d';
SELECT backfill_create('null-key', 't', 'SELECT NULL AS d, 1 AS k, 1 AS v, ''x'' AS note WHERE partition_from < partition_to', '2026-01-01', '2026-02-01',
       key => '{d}', late_changes => 'ignore', max_rejections => 10);
SELECT partition, rows, rejected FROM backfill_build('null-key');
SELECT partition, reason, row FROM backfill.rejection WHERE version = 'null-key';
-- a rule that names none is filtered, rows of no partition are nobody's
SELECT backfill_create('filtered', 't', 'SELECT d, 1 AS k, 1 AS v, ''x'' AS note FROM src UNION ALL VALUES (date ''2030-01-01'', 1, 1, ''x'')',
       all_partitions => true, key => '{d}', late_changes => 'ignore');
SELECT partition, rows, rejected FROM backfill_build('filtered');

--
-- Building again starts from none; long and odd values stay readable; the owner's members only see them
--
UPDATE src SET v = 2 WHERE v < 0;
UPDATE src SET note = E'say "no"\n\\' || repeat('x', 5000) WHERE d = '2026-01-06';
INSERT INTO t VALUES ('2026-01-01', 0, 1, DEFAULT, 'live');
SELECT partition, rows, rejected FROM backfill_build('some');
SELECT partition, reason, left(row->>'note', 12) AS note, length(row->>'note') FROM backfill.rejection WHERE version = 'some' AND partition = 't_01' ORDER BY row->>'d';
SET ROLE regress_rejection_other;
SELECT count(*) FROM backfill.rejection;
SELECT count(*) FROM backfill.bf_rejection;
SET ROLE regress_rejection_owner;
SELECT backfill_drop('some');
SELECT count(*) FROM backfill.rejection WHERE version = 'some';

RESET ROLE;
SET client_min_messages = warning;
SELECT count(backfill_drop(version)) > 0 AS dropped FROM backfill.status;
SELECT count(*) FROM backfill.bf_rejection;
DROP SCHEMA rejection_t CASCADE;
DROP OWNED BY regress_rejection_owner, regress_rejection_other;
DROP ROLE regress_rejection_owner, regress_rejection_other;
