-- backfill_build fills one staged table per partition, for every kind of partitioning: the rows of the rule, each in its place,
-- in a table like the leaf it will replace, written frozen and sealed.  All partitions or none.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_build_owner;
CREATE ROLE regress_build_reader;
CREATE SCHEMA build_t;
GRANT CREATE, USAGE ON SCHEMA build_t TO regress_build_owner;
GRANT USAGE ON SCHEMA build_t TO regress_build_reader;
SET search_path = build_t, public;
SET ROLE regress_build_owner;
SET client_min_messages = notice;

-- the rows staged for a version against what they should be, both ways, duplicates counted
CREATE FUNCTION difference(name text, columns text, expected text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE staged text; n bigint;
BEGIN
  SELECT string_agg(format('SELECT %s FROM %s', columns, p.staged), ' UNION ALL ') INTO staged
    FROM backfill.partition p WHERE version = name;
  EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT ALL (%2$s)) UNION ALL ((%2$s) EXCEPT ALL (%1$s))) d',
                 '(' || staged || ')', expected) INTO n;
  RETURN n;
END $$;

--
-- LIST with NULL, HASH, RANGE over two columns, over expressions, sub-partitions, DEFAULT
--
CREATE TABLE src AS SELECT i AS id, date '2026-01-01' + i % 100 AS d, (ARRAY['de', 'fr', NULL, ''])[1 + i % 4] AS region,
       2023 + i % 5 AS yr, 1 + i / 5 % 12 AS mon, i / 8.0 AS v FROM generate_series(0, 399) i;
ANALYZE src;
\set all 'SELECT id, d, region, yr, mon, v FROM src'
CREATE TABLE by_list (LIKE src) PARTITION BY LIST (region);
CREATE TABLE by_list_eu PARTITION OF by_list FOR VALUES IN ('de', 'fr');
CREATE TABLE by_list_none PARTITION OF by_list FOR VALUES IN (NULL, '');
SELECT backfill_create('list', 'by_list', :'all', all_partitions => true, key => '{}', late_changes => 'ignore');
SELECT partition, state, rows, rejected FROM backfill_build('list');
SELECT difference('list', 'id, d, region, yr, mon, v', :'all');
SELECT backfill_create('list-one', 'by_list', :'all', partitions => '{by_list_none}', key => '{}', late_changes => 'ignore');
SELECT partition, state, rows, rejected FROM backfill_build('list-one');
SELECT backfill_create('bad', 'by_list', :'all', range_from => 'de', key => '{}');
\echo :SQLSTATE

CREATE TABLE by_hash (LIKE src) PARTITION BY HASH (id);
CREATE TABLE by_hash_0 PARTITION OF by_hash FOR VALUES WITH (MODULUS 4, REMAINDER 0);
CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE by_hash_2 PARTITION OF by_hash FOR VALUES WITH (MODULUS 4, REMAINDER 2);
CREATE TABLE by_hash_3 PARTITION OF by_hash FOR VALUES WITH (MODULUS 4, REMAINDER 3);
INSERT INTO by_hash SELECT * FROM src;
SELECT backfill_create('hash', 'by_hash', :'all', all_partitions => true, key => '{id}', late_changes => 'ignore');
SELECT p.rows = c.n AS as_live, p.partition FROM backfill_build('hash') p,
       (SELECT tableoid::regclass::text AS name, count(*) AS n FROM by_hash GROUP BY 1) c WHERE c.name = p.partition ORDER BY 2;
SELECT difference('hash', 'id, d, region, yr, mon, v', :'all');

CREATE TABLE by_two (LIKE src) PARTITION BY RANGE (yr, mon);
CREATE TABLE by_two_a PARTITION OF by_two FOR VALUES FROM (MINVALUE, MINVALUE) TO (2024, 11);
CREATE TABLE by_two_b PARTITION OF by_two FOR VALUES FROM (2024, 11) TO (2025, 3);
CREATE TABLE by_two_c PARTITION OF by_two FOR VALUES FROM (2025, 3) TO (2025, MAXVALUE);
CREATE TABLE by_two_d PARTITION OF by_two FOR VALUES FROM (2026, MINVALUE) TO (MAXVALUE, MAXVALUE);
SELECT backfill_create('two', 'by_two', :'all', all_partitions => true, key => '{}', late_changes => 'ignore');
SELECT partition, state, rows, rejected FROM backfill_build('two');
SELECT difference('two', 'id, d, region, yr, mon, v', :'all');
SELECT backfill_create('two-b', 'by_two', :'all', ROW(2024, 11), ROW(2025, 3), key => '{}', late_changes => 'ignore');
SELECT partition FROM backfill.partition WHERE version = 'two-b' ORDER BY ordinal;
SELECT backfill_create('two-bd', 'by_two', :'all', range_from => ROW(2024, 11), key => '{}', late_changes => 'ignore');
SELECT partition FROM backfill.partition WHERE version = 'two-bd' ORDER BY ordinal;
SELECT backfill_create('bad', 'by_two', :'all', ROW(2024, 12), ROW(2025, 3), key => '{}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'by_two', :'all', ROW(2025, 3), ROW(2024, 11), key => '{}');
\echo :SQLSTATE
DROP TABLE by_two_b;
SELECT backfill_create('bad', 'by_two', :'all', range_to => ROW(2025), key => '{}');
\echo :SQLSTATE
CREATE TABLE by_two_b PARTITION OF by_two FOR VALUES FROM (2024, 11) TO (2024, 12);
SELECT backfill_create('bad', 'by_two', :'all', ROW(2024, 11), ROW(2026), key => '{}');
\echo :SQLSTATE
SELECT backfill_create('bad', 'by_two', :'all', ROW(2024, 11), ROW(2026), key => '{}', gaps => 'create', step => '1');
\echo :SQLSTATE

CREATE FUNCTION fiscal_year(d date) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT extract(year FROM d + 300)::int';
CREATE TABLE by_expression (id int, d date, region text) PARTITION BY RANGE (fiscal_year(d), lower(region));
CREATE TABLE by_expression_26 PARTITION OF by_expression FOR VALUES FROM (2026, MINVALUE) TO (2026, MAXVALUE);
CREATE TABLE by_expression_27 PARTITION OF by_expression FOR VALUES FROM (2027, MINVALUE) TO (2027, MAXVALUE);
CREATE TABLE by_expression_rest PARTITION OF by_expression DEFAULT;
SELECT backfill_create('expression', 'by_expression', 'SELECT id, d, region FROM src UNION ALL SELECT id, d, region FROM src WHERE id < 5',
       all_partitions => true, key => '{}', late_changes => 'ignore');
SELECT partition, state, rows, rejected FROM backfill_build('expression');
SELECT difference('expression', 'id, d, region', 'SELECT id, d, region FROM src UNION ALL SELECT id, d, region FROM src WHERE id < 5');

CREATE TABLE tree (id int NOT NULL, d date NOT NULL, region text, v numeric) PARTITION BY RANGE (d);
CREATE TABLE tree_01 PARTITION OF tree FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') PARTITION BY LIST (region);
CREATE TABLE tree_01_eu PARTITION OF tree_01 FOR VALUES IN ('de', 'fr');
CREATE TABLE tree_01_rest PARTITION OF tree_01 DEFAULT;
CREATE TABLE tree_02 PARTITION OF tree FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') PARTITION BY HASH (id);
CREATE TABLE tree_02_0 PARTITION OF tree_02 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE tree_02_1 (v numeric, d date NOT NULL, id int NOT NULL, region text) PARTITION BY RANGE (id);
CREATE TABLE tree_02_1_all PARTITION OF tree_02_1 FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
ALTER TABLE tree_02 ATTACH PARTITION tree_02_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE tree_rest PARTITION OF tree DEFAULT PARTITION BY LIST (region);
CREATE TABLE tree_rest_de PARTITION OF tree_rest FOR VALUES IN ('de');
CREATE TABLE tree_rest_rest PARTITION OF tree_rest DEFAULT;
INSERT INTO tree SELECT id, d, region, v FROM src;
SELECT backfill_create('tree', 'tree', 'SELECT id, d, region, v FROM src', all_partitions => true, key => '{id}', late_changes => 'ignore');
SELECT partition, bound FROM backfill.partition WHERE version = 'tree' ORDER BY ordinal;
SELECT p.partition, p.rows = c.n AS as_live, rejected FROM backfill_build('tree') p,
       (SELECT tableoid::regclass::text AS name, count(*) AS n FROM tree GROUP BY 1) c WHERE c.name = p.partition ORDER BY 1;
SELECT difference('tree', 'id, d, region, v', 'SELECT id, d, region, v FROM src');
-- with bounds named the rule must keep to the root's bounds, and the levels below are filtered
SELECT backfill_create('tree-bounds', 'tree', 'SELECT id, d, region, v FROM src WHERE d >= partition_from AND d < partition_to',
       all_partitions => true, key => '{id}', late_changes => 'ignore');
SELECT sum(rows) AS rows, sum(rejected) AS rejected FROM backfill_build('tree-bounds');
SELECT difference('tree-bounds', 'id, d, region, v', 'SELECT id, d, region, v FROM src');
SELECT backfill_create('tree-part', 'tree', 'SELECT id, d, region, v FROM src', partitions => '{tree_02,tree_01_rest}', key => '{id}',
       late_changes => 'ignore');
SELECT partition FROM backfill.partition WHERE version = 'tree-part' ORDER BY ordinal;
SELECT backfill_create('tree-range', 'tree', 'SELECT id, d, region, v FROM src', '2026-01-01', '2026-02-01', key => '{id}',
       late_changes => 'ignore');
SELECT partition FROM backfill.partition WHERE version = 'tree-range' ORDER BY ordinal;

--
-- Values: identity, defaults, generated columns, large values, domains, arrays, composites, CHECKs
--
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TYPE pair AS (a int, b text);
CREATE TABLE rich (id int GENERATED ALWAYS AS IDENTITY, d date NOT NULL DEFAULT '2026-01-15', n positive DEFAULT 7, gone text,
                   body text, list int[], p pair, twice int GENERATED ALWAYS AS (n * 2) STORED, u text COLLATE "C" DEFAULT upper('x'),
                   CONSTRAINT n_small CHECK (n < 1000), CONSTRAINT body_there CHECK (body <> '')) PARTITION BY RANGE (d);
ALTER TABLE rich DROP COLUMN gone;
CREATE TABLE rich_01 PARTITION OF rich FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
ALTER TABLE rich_01 ADD CONSTRAINT never_checked CHECK (n <> 3) NOT VALID;
ALTER TABLE rich_01 ADD CONSTRAINT not_null_body CHECK (body IS NOT NULL);
SELECT backfill_create('rich', 'rich', $$
  SELECT i + 100 AS id, date '2026-01-01' + i AS d, CASE WHEN i < 3 THEN i + 1 WHEN i < 9 THEN i + 10 END AS n,
         (SELECT string_agg(md5(x::text || i), '') FROM generate_series(1, i * 100) x) || 'end' AS body,
         ARRAY[i, NULL, i + 1] AS list, ROW(i, 'p')::pair AS p FROM generate_series(1, 9) i WHERE i <> 2 $$,
  all_partitions => true, key => '{}', late_changes => 'ignore');
SELECT partition, rows FROM backfill_build('rich');
SELECT staged AS rich_staged FROM backfill.partition WHERE version = 'rich' \gset
SELECT id, d, n, length(body), right(body, 3), list, p, twice, u FROM :rich_staged ORDER BY id;
-- large values lie in a toast table of the staged one
SELECT pg_relation_size(reltoastrelid) > 0 AS toasted FROM pg_class WHERE oid = :'rich_staged'::regclass;

-- what a row is computed from must be in the row
CREATE TABLE odd (d date, o oid GENERATED ALWAYS AS (tableoid) STORED) PARTITION BY RANGE (d);
CREATE TABLE odd_01 PARTITION OF odd FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
SELECT backfill_create('odd', 'odd', 'SELECT d FROM src', all_partitions => true, key => '{}', late_changes => 'ignore');
\echo :SQLSTATE

--
-- A staged table is like its leaf in all that readers, the planner and administrators can see
--
RESET ROLE;
SET allow_in_place_tablespaces = true;
CREATE TABLESPACE regress_build_space LOCATION '';
GRANT CREATE ON TABLESPACE regress_build_space TO regress_build_owner;
SET ROLE regress_build_owner;
CREATE TABLE full_table (id int NOT NULL, d date NOT NULL, gone1 int, a int, b int, body text, raw bytea, c text COLLATE "C",
                         s int GENERATED ALWAYS AS (a + b) STORED, n numeric(12,3) DEFAULT 1.5, PRIMARY KEY (d, id),
                         CONSTRAINT a_positive CHECK (a >= 0)) PARTITION BY RANGE (d);
ALTER TABLE full_table DROP COLUMN gone1;
CREATE INDEX full_table_a ON full_table (a DESC NULLS LAST) INCLUDE (b);
CREATE TABLE full_01 (c text COLLATE "C", gone2 bigint, id int NOT NULL, d date NOT NULL, a int DEFAULT 5, gone3 text, b int, body text,
                      raw bytea, s int GENERATED ALWAYS AS (a + b) STORED, n numeric(12,3) DEFAULT 1.5,
                      CONSTRAINT a_positive CHECK (a >= 0))
  WITH (fillfactor = 60, autovacuum_vacuum_threshold = 77, toast.autovacuum_vacuum_threshold = 78, parallel_workers = 3)
  TABLESPACE regress_build_space;
ALTER TABLE full_01 DROP COLUMN gone2, DROP COLUMN gone3;
ALTER TABLE full_table ATTACH PARTITION full_01 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
ALTER TABLE full_01 ALTER body SET STORAGE MAIN, ALTER raw SET STORAGE EXTERNAL, ALTER body SET COMPRESSION pglz,
  ALTER a SET STATISTICS 1000, ALTER b SET (n_distinct = -0.5), ALTER c SET DEFAULT 'january', ALTER c SET NOT NULL,
  ADD CONSTRAINT here_only CHECK (b < 100000), ADD CONSTRAINT unchecked CHECK (b <> 100) NOT VALID;
CREATE UNIQUE INDEX full_01_only ON full_01 (id) INCLUDE (a) WITH (fillfactor = 70) TABLESPACE regress_build_space;
CREATE INDEX full_01_partial ON full_01 (lower(body) text_pattern_ops DESC, (a + b)) WHERE a > 3;
ALTER INDEX full_01_partial ALTER COLUMN 2 SET STATISTICS 500;
CREATE INDEX full_01_brin ON full_01 USING brin (d) WITH (pages_per_range = 4);
ALTER TABLE full_01 ADD CONSTRAINT full_01_ex EXCLUDE USING btree (id WITH =) DEFERRABLE INITIALLY DEFERRED,
  ADD CONSTRAINT full_01_unique UNIQUE NULLS NOT DISTINCT (id, b);
ALTER TABLE full_01 CLUSTER ON full_01_only;
ALTER TABLE full_01 REPLICA IDENTITY USING INDEX full_01_only;
CREATE STATISTICS full_01_stat (dependencies, ndistinct, mcv) ON a, b FROM full_01;
ALTER STATISTICS full_01_stat SET STATISTICS 300;
CREATE STATISTICS full_01_stat2 ON (a + b), c FROM full_01;
COMMENT ON TABLE full_01 IS 'it''s January';
COMMENT ON COLUMN full_01.body IS 'html';
COMMENT ON INDEX full_01_partial IS 'used by search';
COMMENT ON CONSTRAINT here_only ON full_01 IS 'why';
COMMENT ON CONSTRAINT full_01_ex ON full_01 IS 'no twins';
COMMENT ON STATISTICS full_01_stat IS 'for the planner';
GRANT SELECT, INSERT ON full_01 TO regress_build_reader WITH GRANT OPTION;
GRANT UPDATE (a, body) ON full_01 TO regress_build_reader;
SET ROLE regress_build_reader;
GRANT SELECT ON full_01 TO PUBLIC;
SET ROLE regress_build_owner;
INSERT INTO full_table (id, d, a, b, body, raw, c) SELECT i, date '2026-01-01' + i % 31, i, i % 7, repeat(md5(i::text), 100),
       decode(repeat('ab', 3000), 'hex'), 'x' FROM generate_series(1, 60) i;
ANALYZE full_01;
-- neither the session's settings nor default privileges may show in it
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
SET default_tablespace = regress_build_space;
SET default_toast_compression = pglz;
SELECT backfill_create('full', 'full_table', 'SELECT id, d, a, b, body, raw, c FROM full_01', all_partitions => true, late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('full');
RESET default_tablespace;
RESET default_toast_compression;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC;
RESET ROLE;
SELECT staged AS full_staged, '_b' || id AS suffix FROM backfill.bf_partition WHERE name = 'full_01' \gset
-- every property as text; names of the staged one's own objects carry a suffix
CREATE FUNCTION properties(rel regclass, suffix text) RETURNS TABLE (property text) LANGUAGE sql AS $$
  WITH c AS (SELECT * FROM pg_class WHERE oid = rel), i AS (SELECT * FROM pg_index WHERE indrelid = rel), p (property) AS (
  SELECT concat_ws(' ', 'table', relowner::regrole, relpersistence, am.amname, t.spcname, reloptions, relreplident, relacl,
                   obj_description(c.oid, 'pg_class')) FROM c JOIN pg_am am ON am.oid = relam LEFT JOIN pg_tablespace t ON t.oid = reltablespace
  UNION ALL SELECT concat_ws(' ', 'toast', t.reloptions, s.spcname) FROM c JOIN pg_class t ON t.oid = c.reltoastrelid
    LEFT JOIN pg_tablespace s ON s.oid = t.reltablespace
  UNION ALL SELECT concat_ws(' ', 'column', attnum, CASE WHEN attisdropped THEN 'dropped' ELSE attname || ' ' || format_type(atttypid, atttypmod) END,
                   attlen, attalign, attbyval, CASE WHEN NOT attisdropped THEN concat_ws(' ', attstorage, attcompression, nullif(attstattarget, -1),
                   attcollation, attnotnull, attidentity, attgenerated,
                   (SELECT string_agg(o, ',') FROM unnest(attoptions) o WHERE o !~ '^pg_attver'), attacl, col_description(rel, attnum), pg_get_expr(adbin, rel)) END)
      FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = rel AND attnum > 0
  UNION ALL SELECT concat_ws(' ', 'constraint', conname, contype, convalidated, condeferrable, condeferred, pg_get_constraintdef(oid),
                   obj_description(oid, 'pg_constraint')) FROM pg_constraint
      WHERE conrelid = rel AND contype <> 'n' AND conname <> 'backfill_bound'
  UNION ALL SELECT concat_ws(' ', 'index', pg_get_indexdef(indexrelid), obj_description(indexrelid, 'pg_class'), indisunique, indisprimary,
                   indisexclusion, indimmediate, indisclustered, indisvalid, indisreplident, t.spcname,
                   (SELECT string_agg(attstattarget::text, ',' ORDER BY attnum) FROM pg_attribute
                     WHERE attrelid = indexrelid AND attstattarget >= 0))
      FROM i JOIN pg_class x ON x.oid = indexrelid LEFT JOIN pg_tablespace t ON t.oid = x.reltablespace
  UNION ALL SELECT concat_ws(' ', 'statistics', pg_get_statisticsobjdef(oid), stxstattarget, stxowner::regrole,
                   obj_description(oid, 'pg_statistic_ext')) FROM pg_statistic_ext WHERE stxrelid = rel)
  SELECT replace(replace(replace(property, suffix, ''), 'backfill_staging.', ''), 'build_t.', '') FROM p $$;
SELECT count(*) FROM properties('full_01', '');
(SELECT 'live' AS only_in, property FROM properties('full_01', '') EXCEPT ALL SELECT 'live', property FROM properties(:'full_staged', :'suffix'))
UNION ALL
(SELECT 'staged', property FROM properties(:'full_staged', :'suffix') EXCEPT ALL SELECT 'staged', property FROM properties('full_01', ''));
-- it has what the leaf has not: a CHECK of its bounds, so that ATTACH need not scan it, and the guards
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = :'full_staged'::regclass AND conname = 'backfill_bound';
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = :'full_staged'::regclass AND NOT tgisinternal ORDER BY 1;
-- the layout was in force before the load
SELECT bool_and(pg_column_compression(body) = 'pglz') AS body_compressed, bool_and(pg_column_compression(raw) IS NULL) AS raw_plain
  FROM :full_staged;
SELECT (SELECT count(*) FROM pg_stats WHERE tablename = 'full_01') = count(*) AS analyzed FROM pg_stats
 WHERE schemaname = 'backfill_staging' AND tablename = split_part(:'full_staged', '.', 2);
SELECT count(*) AS extended_statistics FROM pg_statistic_ext_data JOIN pg_statistic_ext e ON e.oid = stxoid WHERE stxrelid = :'full_staged'::regclass;
-- only owners of targets may create anything beside it
SELECT has_schema_privilege('regress_build_reader', 'backfill_staging', 'CREATE') AS may_create;

--
-- Every page is all-frozen: readers with older snapshots will see the rows
--
SELECT count(*) > 0 AS tables, bool_and(relallvisible = relpages) AS all_visible FROM pg_class
 WHERE relnamespace = 'backfill_staging'::regnamespace AND relkind = 'r';
SELECT count(*) > 0 AS have FROM pg_available_extensions WHERE name = 'pg_visibility' \gset
\set frozen true
\if :have
CREATE EXTENSION pg_visibility SCHEMA build_t;
SELECT bool_and(all_frozen) AS frozen FROM pg_class, pg_visibility(oid::regclass)
 WHERE relnamespace = 'backfill_staging'::regnamespace AND relkind = 'r' \gset
SELECT count(*) FROM pg_class, pg_check_frozen(oid::regclass) WHERE relnamespace = 'backfill_staging'::regnamespace AND relkind = 'r';
DROP EXTENSION pg_visibility;
\else
SELECT 0 AS count;
\endif
SELECT :'frozen'::boolean AS all_frozen;
SET ROLE regress_build_owner;

--
-- The same call twice does no harm
--
SELECT partition, state, rows, attempts, error FROM backfill_build('list');
SELECT state FROM backfill.status WHERE version = 'list';
-- the live data moved: what was compared with it is built again
INSERT INTO by_list VALUES (1000, '2026-01-01', 'de', 1, 1, 1);
SELECT partition, state, rows, attempts FROM backfill_build('list');
SELECT partition, state, rows, attempts FROM backfill_build('list');

--
-- How it is called
--
SELECT * FROM backfill_build('unknown');
\echo :SQLSTATE
SELECT * FROM backfill_build(NULL);
\echo :SQLSTATE
SELECT * FROM backfill_build('list', workers => -1);
\echo :SQLSTATE
SELECT * FROM backfill_build('list', workers => 2);
\echo :SQLSTATE
BEGIN;
SELECT * FROM backfill_build('list', workers => 2);
\echo :SQLSTATE
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM backfill_build('list');
\echo :SQLSTATE
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM backfill_build('list');
\echo :SQLSTATE
ROLLBACK;
BEGIN READ ONLY;
SELECT * FROM backfill_build('two-b');
\echo :SQLSTATE
ROLLBACK;
SET ROLE regress_build_reader;
SELECT * FROM backfill_build('list');
\echo :SQLSTATE
SET ROLE regress_build_owner;

--
-- In one transaction with create, all or nothing
--
BEGIN;
SELECT backfill_create('tx', 'by_list', :'all', all_partitions => true, key => '{}', late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('tx');
SAVEPOINT s;
SELECT backfill_create('tx2', 'by_list', :'all' || ' WHERE 1 / (id - 399) < 1', all_partitions => true, key => '{}', late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('tx2');
ROLLBACK TO s;
SELECT version, state, built FROM backfill.status WHERE version ~ 'tx' ORDER BY 1;
COMMIT;
SELECT difference('tx', 'id, d, region, yr, mon, v', :'all');
BEGIN;
SELECT partition FROM backfill_build('list-one');
SELECT backfill_drop('tx');
ROLLBACK;
SELECT version, state, built FROM backfill.status WHERE version ~ 'tx' ORDER BY 1;
SELECT backfill_drop('tx');

--
-- A parallel plan yields the same
--
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT backfill_create('parallel', 'by_hash', 'SELECT id, d, region, max(yr) AS yr, max(mon) AS mon, sum(v) AS v FROM src GROUP BY 1, 2, 3', all_partitions => true,
       key => '{id}', late_changes => 'ignore');
SELECT finding FROM backfill_plan('parallel') WHERE finding ~ 'the rule runs';
SELECT sum(rows) FROM backfill_build('parallel');
SELECT difference('parallel', 'id, d, region, yr, mon, v', :'all');
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET max_parallel_workers_per_gather;

--
-- What fails leaves nothing behind, and says where it failed
--
SELECT backfill_create('fails', 'by_two', 'SELECT id, d, region, yr, mon, 1 / (mon - 12) AS v FROM src WHERE yr <> 2024', all_partitions => true,
       key => '{}', late_changes => 'ignore');
SELECT count(*) AS before FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace \gset
SELECT partition, state, rows FROM backfill_build('fails');
\echo :SQLSTATE
SELECT count(*) - :before AS left_behind FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace;
SELECT state, built, size FROM backfill.status WHERE version = 'fails';
UPDATE src SET mon = 11 WHERE mon = 12;
SELECT partition, state FROM backfill_build('fails');
UPDATE src SET mon = 12 WHERE mon = 11 AND id / 5 % 12 = 11;

--
-- Duplicate keys are found by a gate; under another unique index they are an error
--
CREATE TABLE keyed (id int, d date, v int, PRIMARY KEY (d, id)) PARTITION BY RANGE (d);
CREATE TABLE keyed_01 PARTITION OF keyed FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE UNIQUE INDEX keyed_01_v ON keyed_01 (v);
SELECT backfill_create('twice', 'keyed', 'SELECT i / 2 AS id, date ''2026-01-01'' AS d, i AS v FROM generate_series(1, 4) i', all_partitions => true,
       late_changes => 'ignore');
SELECT partition, state, rows FROM backfill_build('twice');
SELECT backfill_create('other-unique', 'keyed', 'SELECT i AS id, date ''2026-01-01'' AS d, i / 2 AS v FROM generate_series(1, 4) i',
       all_partitions => true, late_changes => 'ignore');
DO $$
DECLARE detail text;
BEGIN
  PERFORM backfill_build('other-unique');
EXCEPTION WHEN unique_violation THEN
  GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
  RAISE INFO '%', regexp_replace(SQLERRM, '_b\d+', '_bN') USING DETAIL = detail;
END $$;

--
-- The settings in force at create are those of every build
--
CREATE TABLE zoned (t timestamptz, day date) PARTITION BY RANGE (t);
SET timezone = 'Europe/Berlin';
CREATE TABLE zoned_25 PARTITION OF zoned FOR VALUES FROM ('2026-10-25') TO ('2026-10-26');
SELECT backfill_create('zone', 'zoned', $$SELECT t, t::date AS day FROM generate_series(timestamptz '2026-10-24 22:00+00', '2026-10-25 23:00+00', '1 hour') t
       WHERE t >= partition_from AND t < partition_to$$, '2026-10-25', '2026-10-26', key => '{}', late_changes => 'ignore');
SET timezone = 'America/New_York';
-- a day of 25 hours, all of one date
SELECT partition, rows FROM backfill_build('zone');
SELECT staged AS zone_staged FROM backfill.partition WHERE version = 'zone' \gset
SELECT day, count(*) FROM :zone_staged GROUP BY 1;
SET timezone = 'UTC';

--
-- late_changes => 'block' keeps writers of the sources out until the transaction ends, and needs the right to
--
SELECT backfill_create('blocking', 'by_hash', :'all', all_partitions => true, key => '{id}', late_changes => 'block');
BEGIN;
SELECT count(*) FROM backfill_build('blocking');
SELECT relation::regclass, mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'src'::regclass AND mode <> 'AccessShareLock';
COMMIT;
RESET ROLE;
CREATE TABLE foreign_src AS SELECT * FROM src;
GRANT SELECT ON foreign_src TO regress_build_owner;
SET ROLE regress_build_owner;
SELECT backfill_create('may-not', 'by_hash', 'SELECT * FROM foreign_src', all_partitions => true, key => '{id}', late_changes => 'block');
SELECT * FROM backfill_build('may-not');
\echo :SQLSTATE

-- the pin is on record, with what the rule read
SELECT p->'sources'->0->>'name' AS source, p->'sources'->0->'columns'->>'region' AS region, (p->>'snapshot') ~ '^\d+:\d+:' AS snapshot,
       p->>'lsn_not_exact' IS NOT NULL AS lsn, p->>'taken_at' IS NOT NULL AS at, p->>'server_version' = version() AS server,
       p->>'timeline' AS timeline, (p->>'system_identifier') ~ '^\d+$' AS system
  FROM (SELECT backfill_manifest('hash')->'pin' AS p) m;

RESET ROLE;
SET client_min_messages = warning;
SELECT count(backfill_drop(version)) > 0 AS dropped FROM backfill.status;
SELECT relname FROM pg_class WHERE relnamespace = 'backfill_staging'::regnamespace;
\set VERBOSITY terse
DROP SCHEMA build_t CASCADE;
DROP TABLESPACE regress_build_space;
DROP OWNED BY regress_build_owner, regress_build_reader;
DROP ROLE regress_build_owner, regress_build_reader;
