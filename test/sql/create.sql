-- backfill_create records a version that can be built and published, and refuses every other one with nothing changed.
-- The same call twice does no harm.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_create_owner;
CREATE ROLE regress_create_other;
CREATE SCHEMA create_t;
GRANT CREATE, USAGE ON SCHEMA create_t TO regress_create_owner, regress_create_other;
SET search_path = create_t, public;
SET ROLE regress_create_owner;

CREATE TABLE source (sold_on date, store_id int, amount numeric);
CREATE TABLE daily (sold_on date, store_id int, amount numeric, PRIMARY KEY (sold_on, store_id)) PARTITION BY RANGE (sold_on);
CREATE TABLE daily_04 PARTITION OF daily FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
CREATE TABLE daily_05 PARTITION OF daily FOR VALUES FROM ('2026-05-01') TO ('2026-06-01');
CREATE TABLE daily_07 PARTITION OF daily FOR VALUES FROM ('2026-07-01') TO ('2026-08-01');
\set rule 'SELECT sold_on, store_id, sum(amount) AS amount FROM create_t.source GROUP BY 1, 2'

--
-- A version with every argument, and with as few as possible
--
SELECT backfill_create('full', target => 'daily', rule => $$
         SELECT sold_on, store_id, sum(amount * (parameters->>'rate')::numeric) AS amount
           FROM source WHERE sold_on >= partition_from AND sold_on < partition_to GROUP BY 1, 2 $$,
         range_from => '2026-04-01', range_to => '2026-06-01', parameters => '{"rate": "0.0825"}', code_revision => 'a1b2c3d',
         key => '{sold_on,store_id}', match => 'name', gaps => 'error', late_changes => 'block', sources => '{}',
         allow_volatile => false, max_rejections => 5, max_lost_keys => 1, max_gained_keys => 2, max_shrink => '12.5 %');
SELECT backfill_create('few', 'daily', :'rule', all_partitions => true);
SELECT version, target, state, built, live, next_step FROM backfill.status ORDER BY version;
SELECT version, ordinal, partition, bound, state, live, staged, rows FROM backfill.partition ORDER BY version, ordinal;
SELECT m->>'code_revision' AS code_revision, m->'parameters' AS parameters, m->>'state' AS state, m->>'rule_canonical' AS rule_canonical
  FROM backfill_manifest('full') m;
-- what was said, and the default of what was not
SELECT key, l.value AS "full", f.value AS few
  FROM jsonb_each(backfill_manifest('full')->'definition') l FULL JOIN jsonb_each(backfill_manifest('few')->'definition') f USING (key)
 WHERE key <> 'rule' ORDER BY key;
SELECT m->'settings'->>'TimeZone' AS timezone, m->'settings'->>'search_path' AS search_path FROM backfill_manifest('few') m;

--
-- The same call twice does no harm
--
SELECT backfill_create('few', 'daily', :'rule', all_partitions => true);
SELECT backfill_create('few', 'daily', :'rule', all_partitions => true, "replace" => true);
SELECT backfill_create('few', 'daily', :'rule', range_from => '2026-04-01', range_to => '2026-06-01', max_rejections => 3);
\echo :SQLSTATE
SELECT count(*) FROM backfill.partition WHERE version = 'few';
SELECT backfill_create('few', 'daily', :'rule', range_from => '2026-04-01', range_to => '2026-06-01', max_rejections => 3,
       late_changes => 'ignore', "replace" => true);
SELECT partition FROM backfill.partition WHERE version = 'few' ORDER BY ordinal;
-- another value of each kind is named
SELECT backfill_create('few', 'daily', :'rule' || ' HAVING true', range_from => '2026-05-01', range_to => '2026-06-01', parameters => '{}',
       code_revision => 'x', key => '{sold_on}', match => 'position', gaps => 'skip', step => '1 day', partition_name => 'x',
       late_changes => 'block', sources => '{source}', allow_volatile => true, max_lost_keys => NULL, max_gained_keys => 0,
       max_shrink => NULL);
\echo :SQLSTATE

--
-- Names
--
SELECT backfill_create(NULL, 'daily', :'rule', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('', 'daily', :'rule', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create(repeat('x', 64), 'daily', :'rule', all_partitions => true);
\echo :SQLSTATE
-- bytes count, not characters
SELECT backfill_create(repeat('ä', 32), 'daily', :'rule', all_partitions => true);
\echo :SQLSTATE
-- the word for what was there before any version
SELECT backfill_create('original', 'daily', :'rule', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create(repeat('ä', 31) || 'x', 'daily', :'rule', all_partitions => true, late_changes => 'ignore');
SELECT backfill_create('it''s "quoted" $1 %s', 'daily', :'rule', all_partitions => true, late_changes => 'ignore');
SELECT version, next_step FROM backfill.status WHERE version ~ '[ä"]' ORDER BY version COLLATE "C";

--
-- Ranges: literal, date, timestamp, number, ROW; open sides
--
CREATE FUNCTION covered(name text) RETURNS text LANGUAGE sql AS
	$$ SELECT coalesce(string_agg(partition::text, ' ' ORDER BY ordinal), '-') FROM backfill.partition WHERE version = name $$;
\pset tuples_only on
SELECT backfill_create('r1', 'daily', :'rule', date '2026-04-01', timestamp '2026-06-01 00:00', late_changes => 'ignore') \gset
SELECT covered('r1');
SELECT backfill_create('r2', 'daily', :'rule', 'May 1, 2026', timestamptz '2026-06-01 00:00+00', late_changes => 'ignore') \gset
SELECT covered('r2');
SELECT backfill_create('r3', 'daily', :'rule', ROW('2026-05-01'), ROW(date '2026-06-01'), late_changes => 'ignore') \gset
SELECT covered('r3');
SELECT backfill_create('r4', 'daily', :'rule', range_from => '2026-05-01', gaps => 'skip', late_changes => 'ignore') \gset
SELECT covered('r4');
SELECT backfill_create('r5', 'daily', :'rule', range_to => '2026-06-01', late_changes => 'ignore') \gset
SELECT covered('r5');
-- a literal is read under the caller's settings
SET datestyle = 'ISO, DMY';
SELECT backfill_create('r6', 'daily', :'rule', '01/05/2026', '01/06/2026', late_changes => 'ignore') \gset
SELECT covered('r6');
RESET datestyle;
SET datestyle = 'ISO, MDY';
SELECT backfill_create('r7', 'daily', :'rule', partitions => '{daily_07,daily_04,daily_07}', late_changes => 'ignore') \gset
SELECT covered('r7');
\pset tuples_only off
SELECT backfill_create('bad', 'daily', :'rule');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => false);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-06-01', '2026-04-01');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-04-01');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2027-01-01', '2028-01-01', gaps => 'skip');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-10', '2026-05-01');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-05-20');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-10', '2026-04-20');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', 'someday', '2026-05-20');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', 5, 6);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', ROW('2026-04-01', 1), ROW('2026-05-01', 1));
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', ROW(NULL), ROW('2026-05-01'));
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-06-01', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', partitions => '{daily_04}', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', partitions => '{source}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', partitions => '{daily}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', partitions => '{}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', partitions => '{NULL}');
\echo :SQLSTATE

--
-- Gaps: June is missing
--
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-03-01', '2026-06-01');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-07-01', '2026-09-01');
\echo :SQLSTATE
SELECT backfill_create('g-skip', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'skip', late_changes => 'ignore');
SELECT covered('g-skip');
SELECT backfill_create('g-create', 'daily', :'rule', '2026-03-01', '2026-09-01', gaps => 'create', step => '1 month',
       partition_name => '"daily_"MM', late_changes => 'ignore');
SELECT ordinal, partition, bound, live, state FROM backfill.partition WHERE version = 'g-create' ORDER BY 1;
SELECT backfill_create('g-name', 'daily', :'rule', '2026-05-01', '2026-08-01', gaps => 'create', step => '10 days',
       late_changes => 'ignore');
SELECT ordinal, partition, bound, live FROM backfill.partition WHERE version = 'g-name' ORDER BY 1;
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'fill');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => NULL);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'create');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'create', step => '7 days');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'create', step => '0 days');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'create', step => '-1 month');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'create', step => 'often');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'create', step => '1 month', partition_name => '"daily_04"');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'create', step => '10 days', partition_name => '"daily_"MM');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'create', step => '1 month',
       partition_name => '"' || repeat('x', 64) || '"');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', '2026-04-01', '2026-08-01', gaps => 'create', step => '1 month', partition_name => '');
\echo :SQLSTATE

-- a number, a time of day, and a domain over one of them make names too; a text has no step
CREATE DOMAIN day AS date CHECK (VALUE > '2000-01-01');
CREATE TABLE named (k day, v int) PARTITION BY RANGE (k);
CREATE TABLE numbered (k numeric, v int) PARTITION BY RANGE (k);
CREATE TABLE clocked (k timestamptz, v int) PARTITION BY RANGE (k);
CREATE TABLE worded (k text, v int) PARTITION BY RANGE (k);
SELECT backfill_create('g-number', 'numbered', 'SELECT 1 AS k, 1 AS v', 0, 15, gaps => 'create', step => '7.5', key => '{k}', late_changes => 'ignore');
SELECT backfill_create('g-clock', 'clocked', 'SELECT now() AS k, 1 AS v', date '2026-03-28', date '2026-03-30', gaps => 'create', step => '12 hours',
       partition_name => '"c_"MMDD_HH24', key => '{k}', late_changes => 'ignore');
SELECT backfill_create('g-domain', 'named', 'SELECT date ''2026-03-28'' AS k, 1 AS v', '2026-03-01', '2026-05-01', gaps => 'create', step => '1 month',
       key => '{k}', late_changes => 'ignore');
SELECT version, partition, bound FROM backfill.partition WHERE version IN ('g-number', 'g-clock', 'g-domain') ORDER BY version, ordinal;
SELECT backfill_create('bad', 'worded', 'SELECT ''b'' AS k, 1 AS v', 'a', 'c', gaps => 'create', step => '1', key => '{k}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'clocked', 'SELECT now() AS k, 1 AS v', date '2026-03-28', date '2026-03-30', gaps => 'create', step => '12 hours',
       key => '{k}');
\echo :SQLSTATE

--
-- The key
--
CREATE TABLE keyless (sold_on date, store_id int, doc json) PARTITION BY RANGE (sold_on);
CREATE TABLE keyless_04 PARTITION OF keyless FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
\set keyless 'SELECT sold_on, store_id, NULL::json AS doc FROM create_t.source'
SELECT backfill_create('bad', 'keyless', :'keyless', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'keyless', :'keyless', all_partitions => true, key => '{sold_on,shop}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'keyless', :'keyless', all_partitions => true, key => '{ctid}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'keyless', :'keyless', all_partitions => true, key => '{sold_on,doc}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'keyless', :'keyless', all_partitions => true, key => '{sold_on,NULL}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'keyless', :'keyless', all_partitions => true, key => '{sold_on,store_id,sold_on}');
\echo :SQLSTATE
SELECT backfill_create('k1', 'keyless', :'keyless', all_partitions => true, key => '{}', late_changes => 'ignore');
SELECT backfill_create('k2', 'keyless', :'keyless', all_partitions => true, key => '{store_id,sold_on}', late_changes => 'ignore');
SELECT version, backfill_manifest(version)->'definition'->'key' AS key FROM backfill.status WHERE version ~ '^(k.|few)$' ORDER BY 1;

--
-- The other arguments
--
SELECT backfill_create('bad', NULL, :'rule', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', NULL, all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, parameters => '[1, 2]');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, parameters => '"rate"');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, parameters => NULL);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, match => 'type');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, late_changes => 'never');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, late_changes => 'capture');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, max_rejections => -1);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, max_lost_keys => -1);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, max_gained_keys => -1);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, max_shrink => 'much');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, max_shrink => '101%');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, max_shrink => 'nan%');
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true, max_shrink => '20');
\echo :SQLSTATE

--
-- The target
--
CREATE TABLE plain (sold_on date PRIMARY KEY);
CREATE VIEW daily_view AS SELECT * FROM daily;
CREATE MATERIALIZED VIEW daily_mat AS SELECT * FROM daily;
CREATE SEQUENCE seq;
CREATE TABLE empty (sold_on date PRIMARY KEY) PARTITION BY RANGE (sold_on);
SELECT backfill_create('all-new', 'empty', 'SELECT sold_on FROM source', '2026-01-01', '2026-03-01', gaps => 'create', step => '1 month',
       late_changes => 'ignore');
SELECT ordinal, partition, bound, live FROM backfill.partition WHERE version = 'all-new' ORDER BY 1;
\set one 'SELECT sold_on FROM create_t.source'
SELECT backfill_create('bad', 'nowhere', :'one', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 4000000000::oid, :'one', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'plain', :'one', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily_04', :'rule', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily_view', :'rule', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'daily_mat', :'rule', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'seq', :'one', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'plain_pkey', :'one', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'empty', :'one', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'empty', :'one', '2026-01-01', '2026-02-01');
\echo :SQLSTATE
CREATE TABLE hollow (sold_on date, k int) PARTITION BY RANGE (sold_on);
CREATE TABLE hollow_01 PARTITION OF hollow FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') PARTITION BY LIST (k);
SELECT backfill_create('bad', 'hollow', 'SELECT sold_on, 1 AS k FROM source', partitions => '{hollow_01}', key => '{}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'hollow', 'SELECT sold_on, 1 AS k FROM source', all_partitions => true, key => '{}');
\echo :SQLSTATE
CREATE TABLE backfill_staging.hidden (sold_on date PRIMARY KEY) PARTITION BY RANGE (sold_on);
CREATE TABLE backfill_staging.hidden_01 PARTITION OF backfill_staging.hidden FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
SELECT backfill_create('bad', 'backfill_staging.hidden', :'one', all_partitions => true);
\echo :SQLSTATE
DROP TABLE backfill_staging.hidden;
SELECT backfill_create('bad', 'pg_class', :'one', all_partitions => true);
\echo :SQLSTATE
SELECT backfill_create('bad', 'information_schema.tables', :'one', all_partitions => true);
\echo :SQLSTATE
RESET ROLE;
CREATE FOREIGN DATA WRAPPER regress_create_fdw;
CREATE SERVER regress_create_server FOREIGN DATA WRAPPER regress_create_fdw;
CREATE FOREIGN TABLE far (sold_on date) SERVER regress_create_server;
ALTER FOREIGN TABLE far OWNER TO regress_create_owner;
SELECT backfill_create('bad', 'far', :'one', all_partitions => true);
\echo :SQLSTATE
CREATE TEMPORARY TABLE temp_daily (sold_on date PRIMARY KEY) PARTITION BY RANGE (sold_on);
CREATE TEMPORARY TABLE temp_daily_04 PARTITION OF temp_daily FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
SELECT backfill_create('bad', 'temp_daily', :'one', all_partitions => true);
\echo :SQLSTATE
DROP TABLE temp_daily;
SET ROLE regress_create_other;
SELECT backfill_create('bad', 'daily', :'rule', all_partitions => true);
\echo :SQLSTATE
-- nor does another role learn or take a name in use
SELECT backfill_create('few', 'daily', :'rule', all_partitions => true);
\echo :SQLSTATE
CREATE TABLE mine (sold_on date PRIMARY KEY) PARTITION BY RANGE (sold_on);
CREATE TABLE mine_04 PARTITION OF mine FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
SELECT backfill_create('few', 'mine', 'SELECT sold_on FROM create_t.mine', all_partitions => true, "replace" => true);
\echo :SQLSTATE
DROP TABLE mine;
-- a member of the owner may do what the owner may
RESET ROLE;
GRANT regress_create_owner TO regress_create_other;
SET ROLE regress_create_other;
SELECT backfill_create('member', 'daily', :'rule', all_partitions => true, late_changes => 'ignore');
SELECT version, state FROM backfill.status WHERE version = 'member';
RESET ROLE;
REVOKE regress_create_owner FROM regress_create_other;
SET ROLE regress_create_owner;

--
-- The same words, but they mean something else by now: skipped unless the caller asks to replace
--
CREATE TABLE grow (d int PRIMARY KEY, v int) PARTITION BY RANGE (d);
CREATE TABLE grow_1 PARTITION OF grow FOR VALUES FROM (0) TO (10);
SELECT backfill_create('grow', 'grow', 'SELECT d, v FROM grow', all_partitions => true, late_changes => 'ignore');
SELECT backfill_create('grow', 'grow', 'SELECT d, v FROM grow', all_partitions => true, late_changes => 'ignore', replace => true);
CREATE TABLE grow_2 PARTITION OF grow FOR VALUES FROM (10) TO (20);
SELECT backfill_create('grow', 'grow', 'SELECT d, v FROM grow', all_partitions => true, late_changes => 'ignore');
SELECT partition FROM backfill.partition WHERE version = 'grow' ORDER BY ordinal;
SELECT backfill_create('grow', 'grow', 'SELECT d, v FROM grow', all_partitions => true, late_changes => 'ignore', replace => true);
SELECT partition FROM backfill.partition WHERE version = 'grow' ORDER BY ordinal;
SELECT backfill_drop('grow');
DROP TABLE grow;
-- reserved: what was there before any version
SELECT backfill_create('original', 'daily', :'rule', all_partitions => true);

--
-- Nothing was changed by what was refused, and no guard is left on its partitions
--
SELECT version FROM backfill.status WHERE version = 'bad';
SELECT relname FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace;
SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger
 WHERE tgrelid IN ('daily_04'::regclass, 'daily_07'::regclass, 'plain'::regclass, 'daily'::regclass) ORDER BY 1, 2;
BEGIN;
SELECT backfill_create('tx', 'daily', :'rule', all_partitions => true, late_changes => 'ignore');
ROLLBACK;
SELECT version FROM backfill.status WHERE version = 'tx';

RESET ROLE;
SELECT count(backfill_drop(version)) FROM backfill.status;
SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE tgname LIKE 'backfill%';
\set VERBOSITY terse
DROP SCHEMA create_t CASCADE;
DROP FOREIGN DATA WRAPPER regress_create_fdw CASCADE;
\set VERBOSITY default
DROP OWNED BY regress_create_owner, regress_create_other;
DROP ROLE regress_create_owner, regress_create_other;
