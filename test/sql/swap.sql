-- Which way each partition is switched and why; and that an exchange of storage leaves what hangs on a leaf where it is.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
CREATE SCHEMA swap_t;
SET search_path = swap_t, public;
CREATE TABLE src (k int PRIMARY KEY, v int);
INSERT INTO src SELECT k, k FROM generate_series(0, 59) k;
CREATE TABLE t (k int PRIMARY KEY, v int, body text) PARTITION BY RANGE (k);
CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (20);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (20) TO (40);
INSERT INTO t SELECT k, -k, repeat(md5(k::text), 400) FROM src WHERE k < 40;
\set rule 'SELECT k, v, repeat(md5(v::text), 500) AS body FROM src'
-- what plan says of the ways
CREATE FUNCTION ways(name text) RETURNS TABLE (severity text, object text, finding text, hint text) LANGUAGE sql AS $$
  SELECT * FROM backfill_plan(name) WHERE severity = 'blocker' OR finding ~ 'swapped|ATTACH' $$;
\echo '-- arguments'
SELECT backfill_create('bad', 't', :'rule', all_partitions => true, swap => 'rename');
\echo :SQLSTATE
SELECT backfill_create('bad', 't', :'rule', all_partitions => true, swap => NULL);
\echo :SQLSTATE
SELECT backfill_create('v1', 't', :'rule', range_from => 0, range_to => 60, gaps => 'create', step => '20', late_changes => 'ignore');
SELECT backfill_create('v1', 't', :'rule', range_from => 0, range_to => 60, gaps => 'create', step => '20', late_changes => 'ignore',
                       swap => 'storage');
\echo :SQLSTATE
\echo '-- what is created attaches, the rest exchanges storage; publish and rollback do both together'
SELECT * FROM ways('v1');
SELECT partition, swap, swap_reason FROM backfill.partition WHERE version = 'v1' ORDER BY ordinal;
SELECT partition, state FROM backfill_build('v1');
SELECT partition, swap, swap_reason FROM backfill.partition WHERE version = 'v1' ORDER BY ordinal;
SELECT p->>'name' AS name, p->>'swap' AS swap, p->>'swap_reason' AS reason FROM backfill_manifest('v1') m,
       jsonb_array_elements(m->'partitions') p;
CREATE TEMPORARY TABLE old AS TABLE t;
CREATE TEMPORARY TABLE oids AS SELECT relname, oid, relfilenode FROM pg_class WHERE relname IN ('t_0', 't_1', 't_0_pkey', 't_1_pkey');
CREATE FUNCTION state_of_live() RETURNS TABLE (rows bigint, new bigint, old bigint, same_oids bigint, same_files bigint) LANGUAGE sql AS $$
  SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM (TABLE t INTERSECT SELECT k, v, repeat(md5(v::text), 500) FROM src) x),
         (SELECT count(*) FROM (TABLE t INTERSECT TABLE old) x),
         (SELECT count(*) FROM oids o JOIN pg_class c USING (oid) WHERE c.relname = o.relname AND (o.relname ~ 'pkey' OR c.relispartition)),
         (SELECT count(*) FROM oids o JOIN pg_class c USING (oid, relfilenode)) $$;
SELECT * FROM state_of_live();
SELECT action, swapped, created FROM backfill_publish('v1');
SELECT * FROM state_of_live();
\echo '-- the retired table holds the old rows, TOAST and all, and TOAST tables are named after their owners'
SELECT string_agg(format('TABLE %s', live), ' UNION ALL ') AS retired FROM backfill.partition WHERE version = 'v1' AND live IS NOT NULL \gset
SELECT count(*) FROM ((:retired) INTERSECT TABLE old) x;
SELECT count(*) FROM pg_class c JOIN pg_class o ON o.reltoastrelid = c.oid
 WHERE o.oid IN (SELECT oid FROM oids UNION SELECT live FROM backfill.partition WHERE live IS NOT NULL) AND c.relname <> 'pg_toast_' || o.oid;
SELECT action, swapped, created FROM backfill_rollback('v1');
SELECT * FROM state_of_live();
SELECT action, swapped, created FROM backfill_publish('v1', again => true);
SELECT * FROM state_of_live();
\echo '-- versions stacked, storage over attach over storage; withdrawn one by one, and all at once'
SELECT backfill_create('v2', 't', 'SELECT k, v + 1 AS v, ''two'' AS body FROM src', all_partitions => true, late_changes => 'ignore', swap => 'attach');
SELECT DISTINCT state FROM backfill_build('v2');
SELECT action, replaces FROM backfill_publish('v2');
SELECT backfill_create('v3', 't', 'SELECT k, v + 2 AS v, ''three'' AS body FROM src', all_partitions => true, late_changes => 'ignore', swap => 'storage');
SELECT DISTINCT state FROM backfill_build('v3');
SELECT action, replaces FROM backfill_publish('v3');
SELECT DISTINCT swap, swap_reason, version FROM backfill.partition ORDER BY version, swap;
SELECT left(body, 5), count(*), sum(v) FROM t GROUP BY 1;
SELECT action, replaces FROM backfill_rollback('v3');
SELECT left(body, 5), count(*), sum(v) FROM t GROUP BY 1;
SELECT action, replaces FROM backfill_publish('v3', again => true);
SELECT action, replaces FROM backfill_rollback('v3', "to" => 'original');
SELECT * FROM state_of_live();
SELECT version, state FROM backfill.status WHERE version ~ '^v[123]$' ORDER BY 1;
SELECT backfill_drop('v3'), backfill_drop('v2'), backfill_drop('v1');
SELECT count(*) FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace AND relname ~ '^t_';

\echo '-- why a partition cannot exchange storage'
CREATE FUNCTION watch() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
CREATE EVENT TRIGGER regress_swap_watch ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION watch();
SELECT backfill_create('e', 't', :'rule', range_from => 0, range_to => 40, late_changes => 'ignore');
SELECT * FROM ways('e');
ALTER EVENT TRIGGER regress_swap_watch DISABLE;
SELECT * FROM ways('e');
ALTER EVENT TRIGGER regress_swap_watch ENABLE;
SELECT backfill_create('e', 't', :'rule', range_from => 0, range_to => 40, late_changes => 'ignore', swap => 'storage', "replace" => true);
SELECT * FROM ways('e');
DROP EVENT TRIGGER regress_swap_watch;
SELECT backfill_create('e', 't', :'rule', range_from => 0, range_to => 40, late_changes => 'ignore', "replace" => true);
CREATE INDEX t_0_odd ON t_0 (v);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_0_odd'::regclass;
SELECT * FROM ways('e');
SELECT DISTINCT state FROM backfill_build('e');
SELECT partition, swap, swap_reason FROM backfill.partition WHERE version = 'e' ORDER BY ordinal;
SELECT action, swapped FROM backfill_publish('e');
SELECT action, swapped FROM backfill_rollback('e');
SELECT backfill_create('s', 't', :'rule', range_from => 0, range_to => 40, late_changes => 'ignore', swap => 'storage');
\echo :SQLSTATE
DROP INDEX t_0_odd;

\echo '-- changed after publication so that tables are no longer alike: withdrawn by DETACH and ATTACH'
SELECT backfill_drop('e');
SELECT backfill_create('d', 't', :'rule', range_from => 0, range_to => 40, late_changes => 'ignore');
SELECT DISTINCT state FROM backfill_build('d');
SELECT action, swapped FROM backfill_publish('d');
ALTER TABLE t ADD COLUMN extra int;
ALTER TABLE t DROP COLUMN extra;
SELECT action, swapped FROM backfill_rollback('d');
SELECT partition, swap, swap_reason FROM backfill.partition WHERE version = 'd' ORDER BY ordinal;
SELECT * FROM state_of_live();
SELECT backfill_drop('d');

\echo '-- a rewrite of what was published stops its withdrawal: it fires no trigger'
SELECT backfill_create('w', 't', :'rule', range_from => 0, range_to => 40, late_changes => 'ignore');
SELECT DISTINCT state FROM backfill_build('w');
SELECT action, swapped FROM backfill_publish('w');
ALTER TABLE t ALTER COLUMN v TYPE int USING v * 10;
SELECT action FROM backfill_rollback('w');
\echo :SQLSTATE
SELECT action FROM backfill_rollback('w', on_writes => 'discard');
SELECT sum(v) FROM t;
SELECT backfill_drop('w');

\echo '-- an open cursor of this session'
SELECT backfill_create('c', 't', :'rule', range_from => 0, range_to => 40, late_changes => 'ignore', swap => 'storage');
SELECT DISTINCT state FROM backfill_build('c');
BEGIN;
DECLARE c CURSOR FOR TABLE t;
FETCH 1 FROM c \g /dev/null
SELECT action FROM backfill_publish('c');
\echo :SQLSTATE
ROLLBACK;
\echo '-- in one block: undone wholly, or in part'
BEGIN;
SELECT action FROM backfill_publish('c');
SAVEPOINT s;
SELECT action FROM backfill_rollback('c');
ROLLBACK TO s;
SELECT count(*) FROM t WHERE v = k AND body = repeat(md5(v::text), 500);
ROLLBACK;
SELECT count(*) FROM t WHERE v = k AND body = repeat(md5(v::text), 500);
SELECT backfill_drop('c');

\echo '-- columns added with a default keep it on both sides, and statistics go with the rows'
ALTER TABLE t ADD COLUMN since date DEFAULT '2026-01-01';
CREATE STATISTICS t_0_stats ON k, v FROM t_0;
ANALYZE t_0;
SELECT backfill_create('m', 't', 'SELECT k, 7 AS v, ''x'' AS body, date ''2026-05-05'' AS since FROM src', range_from => 0, range_to => 40,
                       late_changes => 'ignore', swap => 'storage');
SELECT DISTINCT state FROM backfill_build('m');
SELECT n_distinct, most_common_vals FROM pg_stats WHERE tablename = 't_0' AND attname = 'since';
SELECT count(DISTINCT since), min(since) FROM t;
SELECT action FROM backfill_publish('m');
SELECT n_distinct, most_common_vals FROM pg_stats WHERE tablename = 't_0' AND attname = 'since';
SELECT n_distinct FROM pg_stats_ext WHERE statistics_name = 't_0_stats';
SELECT count(DISTINCT since), min(since) FROM t;
SELECT live::regclass AS retired FROM backfill.partition WHERE version = 'm' AND ordinal = 1 \gset
SELECT count(*), min(since) FROM :retired;
INSERT INTO t VALUES (3, 3) ON CONFLICT (k) DO UPDATE SET body = 'y' RETURNING since;
SELECT action FROM backfill_rollback('m', on_writes => 'discard');
SELECT count(DISTINCT since), min(since), count(*) FROM t;
SELECT backfill_drop('m');

\echo '-- publications'
SET client_min_messages = error;
CREATE PUBLICATION regress_swap_pub FOR TABLE t_0;
SELECT backfill_create('p', 't', :'rule', range_from => 0, range_to => 40, late_changes => 'ignore');
\echo :SQLSTATE
SELECT backfill_create('p', 't', :'rule', range_from => 0, range_to => 40, late_changes => 'ignore', ignore_subscribers => true, swap => 'attach');
\echo :SQLSTATE
SELECT backfill_create('p', 't', :'rule', range_from => 0, range_to => 40, late_changes => 'ignore', ignore_subscribers => true);
SELECT severity, object, finding, hint FROM backfill_plan('p') WHERE severity <> 'info';
SELECT DISTINCT state FROM backfill_build('p');
SELECT action FROM backfill_publish('p');
SELECT tablename FROM pg_publication_tables WHERE pubname = 'regress_swap_pub';
SELECT action FROM backfill_rollback('p');
SELECT backfill_drop('p');
DROP PUBLICATION regress_swap_pub;
DROP SCHEMA swap_t CASCADE;
