-- The rule: one SELECT, matched to the target's columns by name or position, typed, with named parameters, and nothing hidden
-- in it that a rebuild could not repeat.  Every sentence of it that is wrong is refused at create, with its place in the text.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_rule_owner;
CREATE SCHEMA rule_t;
GRANT CREATE, USAGE ON SCHEMA rule_t TO regress_rule_owner;
SET search_path = rule_t, public;
SET ROLE regress_rule_owner;

CREATE TABLE src (d date, k int, v numeric, note text);
INSERT INTO src SELECT date '2026-01-01' + i % 90, i, i / 4.0, 'n' || i FROM generate_series(0, 89) i;
-- root, leaves: different column orders, different dropped columns, one generated column, two defaults
CREATE TABLE t (gone1 int, d date NOT NULL, k int NOT NULL, v numeric(10,2), twice numeric GENERATED ALWAYS AS (v * 2) STORED,
                note text DEFAULT 'none', at timestamp DEFAULT '2026-01-01') PARTITION BY RANGE (d);
ALTER TABLE t DROP COLUMN gone1;
CREATE TABLE t_01 (note text DEFAULT 'none', gone2 text, v numeric(10,2), k int NOT NULL, twice numeric GENERATED ALWAYS AS (v * 2) STORED,
                   at timestamp DEFAULT '2026-01-01', d date NOT NULL);
ALTER TABLE t_01 DROP COLUMN gone2;
ALTER TABLE t ATTACH PARTITION t_01 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE t_02 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
ALTER TABLE t ADD PRIMARY KEY (d, k);
RESET ROLE;
-- tries a rule; when it is good, tells what was understood and forgets it
CREATE FUNCTION try(rule text, match text DEFAULT 'name', parameters jsonb DEFAULT '{}', target regclass DEFAULT 't',
                    volatile boolean DEFAULT false, sources regclass[] DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE m jsonb;
BEGIN
  PERFORM backfill_create('try', target, rule, all_partitions => true, parameters => parameters, match => match, key => '{}',
          late_changes => 'ignore', sources => sources, allow_volatile => volatile);
  m := backfill_manifest('try');
  PERFORM backfill_drop('try');
  RETURN concat_ws(E'\n', m->>'rule_canonical', 'stable: ' || (m->>'stable_functions'), 'volatile: ' || (m->>'volatile_functions'));
END $$;
GRANT EXECUTE ON FUNCTION try TO regress_rule_owner;
SET ROLE regress_rule_owner;
\set SHOW_CONTEXT never

--
-- Columns by name: whatever their order; those with a default and the generated ones may be left out
--
SELECT backfill_create('by-name', 't', 'SELECT v, k, d FROM src', all_partitions => true, late_changes => 'ignore');
SELECT backfill_create('by-position', 't', 'SELECT d, k AS x, v AS y, note, timestamp ''2026-03-03'' FROM src', all_partitions => true,
       match => 'position', late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('by-name');
SELECT partition, state, rows FROM backfill_build('by-position');
CREATE FUNCTION staged(name text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN SELECT staged FROM backfill.partition WHERE version = name ORDER BY ordinal LOOP
    RETURN QUERY EXECUTE format('SELECT concat_ws('' '', d, k, v, twice, note, at) FROM %s WHERE k IN (1, 40) ORDER BY k', r.staged);
  END LOOP;
END $$;
SELECT staged('by-name');
SELECT staged('by-position');
SELECT backfill_drop('by-name'), backfill_drop('by-position');

SELECT try('SELECT d, k FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v, extra FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v AS amount FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v, v FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v, v AS twice FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v, 1 FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v, note, ctid FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v, note FROM src', 'position');
\echo :SQLSTATE
SELECT try('SELECT d, k, v, note, now()::timestamp, 1 FROM src', 'position');
\echo :SQLSTATE
SELECT try('SELECT * FROM src', 'position');
\echo :SQLSTATE
-- columns that only sort are none of the result
SELECT try('SELECT d, k, v FROM src ORDER BY note, k');

--
-- Types: assignment casts, and literals that meet the column's type
--
SELECT backfill_create('types', 't', $$SELECT '2026-01-05' AS d, k::bigint AS k, 1.005 AS v, NULL AS note, 'infinity' AS at FROM src$$,
       all_partitions => true, late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('types');
SELECT staged('types');
SELECT backfill_drop('types');
SELECT try('SELECT d, k, note AS v FROM src');
\echo :SQLSTATE
SELECT try(E'SELECT d,\n       note AS k, v FROM src');
\echo :SQLSTATE
SELECT try('SELECT k AS d, k, v, note, now()::timestamp FROM src', 'position');
\echo :SQLSTATE
SELECT try($$SELECT 'soon' AS d, k, v FROM src$$);
\echo :SQLSTATE

--
-- One SELECT, that only reads
--
SELECT try('');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM src; SELECT d, k, v FROM src');
\echo :SQLSTATE
SELECT try('SELEC d, k, v FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM nowhere');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM src WHERE nothing > 1');
\echo :SQLSTATE
SELECT try('INSERT INTO src SELECT d, k, v FROM src');
\echo :SQLSTATE
SELECT try('DELETE FROM src');
\echo :SQLSTATE
SELECT try('TRUNCATE src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v INTO copy FROM src');
\echo :SQLSTATE
SELECT try('WITH x AS (DELETE FROM src RETURNING d, k, v) SELECT d, k, v FROM x');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM src FOR UPDATE');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM (SELECT * FROM src FOR SHARE) s');
\echo :SQLSTATE
CREATE VIEW locking AS SELECT * FROM src FOR UPDATE;
SELECT try('SELECT d, k, v FROM locking');
\echo :SQLSTATE
SELECT try('SELECT d, k, $1 AS v FROM src');
\echo :SQLSTATE
SELECT try('TABLE src');
\echo :SQLSTATE
SELECT try($$VALUES ('2026-01-05', 1, 2.5, 'x', now()::timestamp)$$, 'position');
\echo :SQLSTATE
SELECT try($$VALUES (date '2026-01-05', 1, 2.5, 'x', now()::timestamp)$$, 'position');
SELECT try('WITH x AS (SELECT * FROM src) SELECT d, k, v FROM x UNION ALL SELECT d, k, v FROM x');

--
-- partition_from, partition_to, parameters
--
SELECT try('SELECT d, k, v * (parameters->>''rate'')::numeric AS v FROM src WHERE d >= partition_from AND d < partition_to', parameters => '{"rate": "2"}');
-- by their full names
SELECT try('SELECT d, k, v * (rule.parameters->>''rate'')::numeric AS v FROM src WHERE d >= rule.partition_from', parameters => '{"rate": "2"}');
-- nothing else is taken for one
SELECT try('SELECT d, k, v FROM src WHERE d < partition_until');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM src WHERE d < rule.partition_until');
\echo :SQLSTATE
-- their type is the key's
SELECT try('SELECT d, k, v FROM src WHERE k < partition_from');
\echo :SQLSTATE
-- a column of the same name
CREATE TABLE shadow (d date, k int, v numeric, parameters jsonb, partition_from date);
SELECT try('SELECT d, k, v FROM shadow WHERE parameters->>''a'' = ''b''');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM shadow WHERE d >= partition_from');
\echo :SQLSTATE
SELECT try('SELECT rule.d, rule.k, rule.v FROM shadow AS rule WHERE rule.d >= rule.partition_from');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM shadow s WHERE s.parameters = rule.parameters AND s.partition_from = rule.partition_from');
INSERT INTO shadow VALUES ('2026-01-05', 1, 1, '{"a": 1}', '2026-01-01'), ('2026-01-05', 2, 1, '{}', '2026-01-01'), ('2026-02-05', 3, 1, '{}', '2026-02-01');
SELECT backfill_create('shadow', 't', 'SELECT d, k, v FROM shadow s WHERE s.parameters = rule.parameters AND s.partition_from = rule.partition_from',
       all_partitions => true, late_changes => 'ignore');
SELECT partition, rows FROM backfill_build('shadow');
SELECT backfill_drop('shadow');
-- constant keys are checked in both directions
SELECT try('SELECT d, k, v * (parameters->>''rat'')::numeric AS v FROM src', parameters => '{"rate": "2"}');
\echo :SQLSTATE
SELECT try('SELECT d, k, v * (parameters->''rate'')::numeric AS v FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v * (parameters#>>''{tax,rate}'')::numeric AS v FROM src', parameters => '{"rate": "2"}');
\echo :SQLSTATE
SELECT try('SELECT d, k, v * (parameters[''rat''])::numeric AS v FROM src', parameters => '{"rate": 2}');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM src', parameters => '{"rate": "2", "unit": "EUR"}');
SELECT try('SELECT d, k, v * (parameters->>''rate'')::numeric AS v FROM src', parameters => '{"rate": "2", "unit": "EUR"}');
-- a key that the rule asks for may be missing; a key read by a computed name may be any
SELECT try('SELECT d, k, CASE WHEN parameters ? ''rate'' THEN v * (parameters->>''rate'')::numeric ELSE v END AS v FROM src');
SELECT try('SELECT d, k, v * (parameters->>note)::numeric AS v FROM src', parameters => '{"rate": "2"}');

--
-- Bounds exist where the target has one RANGE key, with values for open sides or not
--
CREATE TABLE open_dates (d date, k int, v numeric) PARTITION BY RANGE (d);
CREATE TABLE open_dates_lo PARTITION OF open_dates FOR VALUES FROM (MINVALUE) TO ('2026-02-01');
CREATE TABLE open_dates_02 PARTITION OF open_dates FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE open_dates_hi PARTITION OF open_dates FOR VALUES FROM ('2026-03-16') TO (MAXVALUE);
CREATE TABLE open_dates_rest PARTITION OF open_dates DEFAULT;
CREATE TABLE open_ints (d date, k int, v numeric) PARTITION BY RANGE (k);
CREATE TABLE open_ints_lo PARTITION OF open_ints FOR VALUES FROM (MINVALUE) TO (10);
CREATE TABLE open_ints_10 PARTITION OF open_ints FOR VALUES FROM (10) TO (20);
CREATE TABLE two_keys (d date, k int, v numeric) PARTITION BY RANGE (d, k);
CREATE TABLE two_keys_p PARTITION OF two_keys FOR VALUES FROM ('2026-01-01', 0) TO ('2026-02-01', 0);
CREATE TABLE listed (d date, k int, v numeric) PARTITION BY LIST (k);
CREATE TABLE listed_p PARTITION OF listed FOR VALUES IN (1, 2);
CREATE TABLE hashed (d date, k int, v numeric) PARTITION BY HASH (k);
CREATE TABLE hashed_p PARTITION OF hashed FOR VALUES WITH (MODULUS 1, REMAINDER 0);
\set bounded 'SELECT d, k, v FROM src WHERE d >= partition_from AND d < partition_to'
\set bounded_k 'SELECT d, k, v FROM src WHERE k >= partition_from AND k < partition_to'
-- DEFAULT has no bounds to name: both sides are open, and rows of other partitions are left out
SELECT backfill_create('open', 'open_dates', :'bounded', all_partitions => true, key => '{}', late_changes => 'ignore');
SELECT partition, rows, rejected FROM backfill_build('open');
SELECT backfill_drop('open');
SELECT try(:'bounded_k', target => 'open_ints');
\echo :SQLSTATE
-- a side that the rule does not name may be open
SELECT try('SELECT d, k, v FROM src WHERE k < partition_to', target => 'open_ints');
SELECT backfill_create('try', 'open_ints', :'bounded_k', 10, 20, key => '{}', late_changes => 'ignore');
SELECT partition, rows FROM backfill_build('try');
SELECT backfill_drop('try');
SELECT try(:'bounded', target => 'two_keys');
\echo :SQLSTATE
SELECT try(:'bounded_k', target => 'listed');
\echo :SQLSTATE
SELECT try(:'bounded_k', target => 'hashed');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM src', target => 'two_keys');

--
-- Volatile functions are refused unless allowed, stable ones are named
--
SELECT try('SELECT d, k, random() AS v FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM src WHERE random() < 2 AND clock_timestamp() IS NOT NULL');
\echo :SQLSTATE
CREATE VIEW dice AS SELECT d, k, random()::numeric AS v FROM src;
SELECT try('SELECT d, k, v FROM dice');
\echo :SQLSTATE
CREATE SEQUENCE seq;
SELECT try('SELECT d, nextval(''seq'') AS k, v FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM src, seq');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM src TABLESAMPLE bernoulli (10)');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM src TABLESAMPLE bernoulli (10) REPEATABLE (1)');
SELECT try('SELECT d, k, random() AS v FROM src', volatile => true);
SELECT try('SELECT d, k, v, now()::timestamp AS at, to_char(v, ''999'') AS note FROM src WHERE d <= current_date');
-- a default that fills an omitted column counts too
CREATE TABLE defaults (d date, k int DEFAULT (random() * 10)::int, v numeric) PARTITION BY RANGE (d);
CREATE TABLE defaults_01 PARTITION OF defaults FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
SELECT try('SELECT d, v FROM src', target => 'defaults');
\echo :SQLSTATE

--
-- Sources the snapshot cannot see
--
CREATE FUNCTION reads(int) RETURNS numeric LANGUAGE sql STABLE AS 'SELECT max(v) FROM rule_t.src WHERE k <= $1';
CREATE FUNCTION computes(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
CREATE FUNCTION rows() RETURNS SETOF src LANGUAGE sql STABLE AS 'SELECT * FROM rule_t.src';
SELECT try('SELECT d, k, reads(k) AS v FROM src');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM rows()');
\echo :SQLSTATE
SELECT try('SELECT d, k, computes(v) AS v FROM src');
SELECT try('SELECT d, k, reads(k) AS v FROM src', sources => '{src}');
SELECT try('SELECT d, k, reads(k) AS v FROM src', sources => '{}');
RESET ROLE;
CREATE FOREIGN DATA WRAPPER regress_rule_fdw;
CREATE SERVER regress_rule_server FOREIGN DATA WRAPPER regress_rule_fdw;
GRANT USAGE ON FOREIGN SERVER regress_rule_server TO regress_rule_owner;
SET ROLE regress_rule_owner;
CREATE FOREIGN TABLE far (d date, k int, v numeric) SERVER regress_rule_server;
CREATE TABLE mixed (d date, k int, v numeric) PARTITION BY RANGE (d);
CREATE FOREIGN TABLE mixed_far PARTITION OF mixed FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') SERVER regress_rule_server;
CREATE VIEW over_far AS SELECT * FROM far;
SELECT try('SELECT d, k, v FROM far');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM over_far');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM mixed');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM far', sources => '{src}');
\echo :SQLSTATE
SELECT try('SELECT d, k, v FROM mixed WHERE d > ''2027-01-01''', sources => '{mixed_far}');

--
-- The rule runs as the target's owner, with its rights and under the search_path of the caller
--
RESET ROLE;
CREATE TABLE secret (d date, k int, v numeric);
INSERT INTO secret VALUES ('2026-01-05', 1, 1);
SELECT backfill_create('owner', 't', 'SELECT d, k, v FROM secret', all_partitions => true, late_changes => 'ignore');
\echo :SQLSTATE
SELECT count(*) FROM backfill.status;
GRANT SELECT ON secret TO regress_rule_owner;
SELECT backfill_create('owner', 't', 'SELECT d, k, v FROM secret', all_partitions => true, late_changes => 'ignore');
REVOKE SELECT ON secret FROM regress_rule_owner;
SELECT partition FROM backfill_build('owner');
\echo :SQLSTATE
SELECT version, state FROM backfill.status;
SELECT backfill_drop('owner');
GRANT SELECT ON secret TO regress_rule_owner;
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
SELECT backfill_create('owner', 't', 'SELECT d, k, v FROM secret', all_partitions => true, late_changes => 'ignore');
\echo :SQLSTATE
SET ROLE regress_rule_owner;
-- what the names meant at create is what is built: another table of that name earlier in the path changes nothing
CREATE TEMPORARY TABLE src (d date, k int, v numeric, note text);
SELECT backfill_create('path', 't', 'SELECT d, k, v FROM src', all_partitions => true, late_changes => 'ignore');
SELECT backfill_manifest('path')->>'rule_canonical' AS canonical;
DROP TABLE pg_temp.src;
SELECT backfill_create('path', 't', 'SELECT d, k, v FROM src', all_partitions => true, late_changes => 'ignore');
SET search_path = public;
SELECT sum(rows) FROM backfill_build('path');
SELECT backfill_drop('path');
SET search_path = rule_t, public;
-- and when they mean something else, the build says so
RESET ROLE;
CREATE SCHEMA rule_early AUTHORIZATION regress_rule_owner;
SET ROLE regress_rule_owner;
SET search_path = rule_early, rule_t, public;
\set SHOW_CONTEXT errors
SELECT backfill_create('early', 't', 'SELECT d, k, v FROM src', all_partitions => true, late_changes => 'ignore');
CREATE TABLE rule_early.src (d date, k int, v numeric);
SELECT * FROM backfill_build('early');
\echo :SQLSTATE
DROP SCHEMA rule_early CASCADE;
SELECT partition, rows FROM backfill_build('early');
SELECT backfill_drop('early');
SET search_path = rule_t, public;
SELECT backfill_create('renamed', 't', 'SELECT d, k, v FROM src', all_partitions => true, late_changes => 'ignore');
ALTER TABLE src RENAME TO src_old;
SELECT * FROM backfill_build('renamed');
\echo :SQLSTATE
CREATE TABLE src (d date, k int, v text);
SELECT * FROM backfill_build('renamed');
\echo :SQLSTATE
DROP TABLE src;
CREATE VIEW src AS SELECT d, k, v FROM src_old;
SELECT partition, rows FROM backfill_build('renamed');
DROP VIEW src;
ALTER TABLE src_old RENAME TO src;
SELECT backfill_drop('renamed');

--
-- A rule that reads its own target reads what is live at the pin
--
INSERT INTO t (d, k, v) SELECT d, k, 100 FROM src WHERE d < '2026-03-01';
SELECT backfill_create('self', 't', 'SELECT d, k, v + 1 AS v, note, at FROM t', all_partitions => true, late_changes => 'ignore');
SELECT partition, rows FROM backfill_build('self');
SELECT staged('self');
SELECT sum(v) AS live FROM t;
SELECT backfill_drop('self');

RESET ROLE;
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA rule_t CASCADE;
DROP FOREIGN DATA WRAPPER regress_rule_fdw CASCADE;
DROP OWNED BY regress_rule_owner;
DROP ROLE regress_rule_owner;
