-- Cases people met: what a partition is made of beside its rows must be the same after a swap.
BEGIN;
SET client_min_messages = error;
SELECT no_plan();
CREATE EXTENSION backfill;

/* create, build and publish in one call; the name of the version is that of the target */
CREATE FUNCTION rebuild(target regclass, rule text, options text DEFAULT 'all_partitions => true') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	action text;
BEGIN
	EXECUTE format('SELECT backfill_create(%L, %L, %L, %s)', target, target, rule, options);
	PERFORM backfill_build(target::text);
	SELECT p.action || ' ' || p.swapped || ' ' || p.unchanged INTO action FROM backfill_publish(target::text) p;
	RETURN action;
END $$;
/* names, kinds and definitions of everything on a table, without what a swap may change */
CREATE FUNCTION layout(rel regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT concat_ws(' ', 'column', attname, format_type(atttypid, atttypmod), attnotnull, attgenerated, attstorage, attcompression,
					 attstattarget, (SELECT array_agg(o) FROM unnest(attoptions) o WHERE o !~ '^pg_'), attacl,
					 pg_get_expr(adbin, adrelid), col_description(rel, attnum))
	  FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
	 WHERE attrelid = rel AND attnum > 0 AND NOT attisdropped
	UNION ALL
	SELECT concat_ws(' ', 'index', x.relname, pg_get_indexdef(indexrelid), indisunique, indisprimary, indisclustered, indisreplident,
					 indisvalid, indnullsnotdistinct, x.reltablespace, x.reloptions, obj_description(indexrelid, 'pg_class'),
					 (SELECT p.inhparent::regclass FROM pg_inherits p WHERE p.inhrelid = indexrelid))
	  FROM pg_index JOIN pg_class x ON x.oid = indexrelid WHERE indrelid = rel
	UNION ALL
	SELECT concat_ws(' ', 'constraint', conname, pg_get_constraintdef(c.oid), condeferrable, condeferred, convalidated,
					 obj_description(c.oid, 'pg_constraint'), (SELECT p.conname FROM pg_constraint p WHERE p.oid = c.conparentid))
	  FROM pg_constraint c WHERE conrelid = rel AND contype <> 'n'
	UNION ALL
	SELECT concat_ws(' ', 'statistics', stxnamespace::regnamespace, stxname, stxkind, stxkeys, stxstattarget,
					 obj_description(oid, 'pg_statistic_ext')) FROM pg_statistic_ext WHERE stxrelid = rel
	UNION ALL
	SELECT concat_ws(' ', 'table', c.relname, c.relnamespace::regnamespace, c.relowner::regrole, c.relacl, c.relpersistence, c.reltablespace,
					 (SELECT array_agg(o ORDER BY o) FROM unnest(c.reloptions) o), t.reloptions, c.relreplident, pg_get_expr(c.relpartbound, c.oid), obj_description(rel, 'pg_class'))
	  FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.oid = rel
$$;

--
-- Columns of a leaf in another order than the target's, with dropped ones; a column added later
--
CREATE TABLE probe (id bigint NOT NULL, junk text, day date NOT NULL, low int, high int) PARTITION BY RANGE (day);
ALTER TABLE probe DROP COLUMN junk;
CREATE TABLE probe_1 (high int, gone int, low int, id bigint NOT NULL, day date NOT NULL);
ALTER TABLE probe_1 DROP COLUMN gone;
ALTER TABLE probe ATTACH PARTITION probe_1 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE probe_2 PARTITION OF probe FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
ALTER TABLE probe ADD COLUMN note text DEFAULT 'none';
INSERT INTO probe (id, day, low, high) SELECT i, date '2026-01-01' + i % 59, -i, i FROM generate_series(1, 118) i;
CREATE TEMP TABLE before AS SELECT l FROM layout('probe_1') l;
SELECT is(rebuild('probe', 'SELECT day, high + 1 AS high, low, id FROM probe', 'all_partitions => true, key => ''{id,day}'''), 'published 2 0',
		  'column order: published');
SELECT is((SELECT count(*) FROM probe WHERE low = -id AND high = id + 1 AND note = 'none'), 118::bigint, 'values are in their columns');
SELECT bag_eq($$ SELECT layout('probe_1') $$, 'TABLE before', 'the leaf is as it was');
SELECT hasnt_column('probe_1', 'gone', 'a dropped column stays dropped');
DROP TABLE before;

--
-- Generated columns
--
CREATE TABLE bill (id int, day date, net numeric NOT NULL, gross numeric GENERATED ALWAYS AS (net * 1.2) STORED, PRIMARY KEY (id, day))
	PARTITION BY RANGE (day);
CREATE TABLE bill_1 PARTITION OF bill FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO bill (id, day, net) SELECT i, '2026-01-15', i FROM generate_series(1, 20) i;
SELECT throws_ok($$ SELECT rebuild('bill', 'SELECT id, day, net, gross FROM bill') $$, '428C9', 'rule cannot fill generated column "gross"',
				 'generated columns: the rule must leave them out');
SELECT is(rebuild('bill', 'SELECT id, day, net + 1 AS net FROM bill'), 'published 1 0', 'generated columns: published');
SELECT is((SELECT count(*) FROM bill_1 WHERE gross = net * 1.2), 20::bigint, 'they are computed');
UPDATE bill SET net = 100 WHERE id = 1;
SELECT is((SELECT gross FROM bill_1 WHERE id = 1), 120.0, '... and still are, on update');

--
-- Indexes, constraints, defaults and marks that only the leaf has; an invalid index
--
CREATE TABLE ride (id int NOT NULL, day date NOT NULL, car int, note text) PARTITION BY RANGE (day);
CREATE INDEX ride_car ON ride (car);
CREATE TABLE ride_1 PARTITION OF ride FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO ride SELECT i, date '2026-01-01' + i % 31, i % 10, 'n' || i % 7 FROM generate_series(1, 100) i;
CREATE UNIQUE INDEX ride_1_only ON ride_1 (id) INCLUDE (car) WITH (fillfactor = 70);
CREATE INDEX ride_1_part ON ride_1 (lower(note) text_pattern_ops DESC NULLS LAST) WHERE car > 3;
COMMENT ON INDEX ride_1_part IS 'used by search';
ALTER INDEX ride_1_part ALTER COLUMN 1 SET STATISTICS 300;
ALTER TABLE ride_1 ADD CONSTRAINT ride_1_ex EXCLUDE USING btree (id WITH =) DEFERRABLE;
ALTER TABLE ride_1 ADD CONSTRAINT ride_1_ck CHECK (car < 5) NOT VALID;
COMMENT ON CONSTRAINT ride_1_ck ON ride_1 IS 'from now on';
ALTER TABLE ride_1 ALTER COLUMN note SET DEFAULT 'january';
ALTER TABLE ride_1 CLUSTER ON ride_1_only;
CREATE INDEX ride_1_bad ON ride_1 (note);
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ride_1_bad'::regclass;	/* as CREATE INDEX CONCURRENTLY leaves it */
CREATE TEMP TABLE before AS SELECT l FROM layout('ride_1') l WHERE l NOT LIKE 'index ride_1_bad%';
SELECT backfill_create('rides', 'ride', 'SELECT id, day, car % 5 AS car, note FROM ride', all_partitions => true, key => '{id}');
SELECT is((SELECT finding FROM backfill_plan('rides') WHERE object LIKE '%ride_1_bad'), 'index is invalid and is not rebuilt', 'plan tells of an invalid index');
SELECT is((SELECT state FROM backfill_build('rides')), 'staged', 'local indexes: built');
SELECT is((SELECT action FROM backfill_publish('rides')), 'published', 'local indexes: published');
SELECT bag_eq($$ SELECT layout('ride_1') $$, 'TABLE before', 'indexes, constraints, default and CLUSTER mark are there under their names');
SELECT ok((SELECT indisvalid FROM pg_index WHERE indexrelid = 'ride_car'::regclass), 'the index of the target is still valid');
SELECT throws_ok($$ INSERT INTO ride VALUES (1, '2026-01-01', 7) $$, '23514', NULL, 'a NOT VALID check works for new rows');
SELECT is((SELECT attstattarget FROM pg_attribute WHERE attrelid = 'ride_1_part'::regclass AND attnum = 1)::int, 300, 'statistics target of an expression');
DROP TABLE before;

--
-- Keys that ATTACH must find there: NULLS NOT DISTINCT, deferrable; a duplicate that only one of them forbids
--
CREATE TABLE acct (id int, day date, ext int, slot int, CONSTRAINT acct_pk PRIMARY KEY (id, day),
	CONSTRAINT acct_ext UNIQUE NULLS NOT DISTINCT (ext, day), CONSTRAINT acct_slot UNIQUE (slot, day) DEFERRABLE INITIALLY DEFERRED)
	PARTITION BY RANGE (day);
CREATE TABLE acct_1 PARTITION OF acct FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO acct SELECT i, date '2026-01-01' + i % 31, i, i FROM generate_series(1, 100) i;
CREATE TABLE acct_src AS SELECT * FROM acct;
INSERT INTO acct_src VALUES (901, '2026-01-09', NULL, 901), (902, '2026-01-09', NULL, 902);
CREATE TEMP TABLE before AS SELECT l FROM layout('acct_1') l;
SELECT throws_like($$ SELECT rebuild('acct', 'SELECT * FROM acct_src') $$, '%"acct_%ext%', 'keys: a duplicate in another unique constraint is named at the build');
SELECT bag_eq('TABLE acct', 'SELECT * FROM acct_src WHERE id < 900', '... and nothing has changed');
DELETE FROM acct_src WHERE id = 902;
SELECT backfill_create('accts', 'acct', 'SELECT * FROM acct_src', all_partitions => true);
SELECT count(*) FROM backfill_build('accts') \g /dev/null
CREATE TEMP TABLE files AS SELECT x.relfilenode FROM backfill.partition p JOIN pg_index i ON i.indrelid = p.staged JOIN pg_class x ON x.oid = i.indexrelid
	WHERE version = 'accts';
SELECT is((SELECT swapped FROM backfill_publish('accts')), 1, 'keys: published');
SELECT bag_eq($$ SELECT layout('acct_1') $$, 'TABLE before', 'the three keys are there, and hang on those of the target');
SELECT bag_eq($$ SELECT x.relfilenode FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = 'acct_1'::regclass $$, 'TABLE files',
			  'no index was built or rebuilt by publish');
DROP TABLE before, files;

--
-- Storage, compression, statistics, comments, replica identity, tablespaces
--
SET allow_in_place_tablespaces = on;
CREATE TABLE blob (id int NOT NULL, day date NOT NULL, a int, b int, body text, raw bytea) PARTITION BY RANGE (day);
CREATE TABLE blob_1 PARTITION OF blob FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')
	WITH (fillfactor = 60, autovacuum_enabled = false, toast.autovacuum_enabled = false, parallel_workers = 3);
CREATE TABLE blob_2 PARTITION OF blob FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')
	WITH (autovacuum_vacuum_threshold = 7, autovacuum_enabled = true, toast.vacuum_truncate = false);
CREATE UNIQUE INDEX blob_1_id ON blob_1 (id);
ALTER TABLE blob_1 REPLICA IDENTITY USING INDEX blob_1_id;
ALTER TABLE blob_2 REPLICA IDENTITY FULL;
ALTER TABLE blob_1 ALTER COLUMN body SET STORAGE MAIN, ALTER COLUMN raw SET STORAGE EXTERNAL, ALTER COLUMN body SET COMPRESSION pglz,
	ALTER COLUMN a SET STATISTICS 1000, ALTER COLUMN b SET (n_distinct = -0.5);
CREATE STATISTICS blob_1_ab (dependencies, ndistinct) ON a, b FROM blob_1;
CREATE STATISTICS blob_1_expr ON (a + b), a FROM blob_1;
ALTER STATISTICS blob_1_ab SET STATISTICS 500;
COMMENT ON STATISTICS blob_1_ab IS 'they depend';
COMMENT ON TABLE blob_1 IS 'do not drop';
COMMENT ON COLUMN blob_1.body IS 'it''s "html"';
INSERT INTO blob SELECT i, date '2026-01-05' + 31 * (i % 2), i % 10, i % 10, repeat(md5(i::text), 120), decode(repeat('ab', 3000), 'hex')
  FROM generate_series(1, 40) i;
CREATE TEMP TABLE before AS SELECT l FROM (SELECT layout('blob_1') UNION ALL SELECT layout('blob_2')) s(l);
SELECT is(rebuild('blob', 'SELECT id, day, a, b, body || ''!'' AS body, raw FROM blob', 'all_partitions => true, key => ''{id}'''), 'published 2 0',
		  'storage: published');
SELECT bag_eq($$ SELECT layout('blob_1') UNION ALL SELECT layout('blob_2') $$, 'TABLE before', 'options, storage, statistics, comments are as they were');
SELECT is((SELECT count(*) FROM blob_1 WHERE pg_column_size(raw) = 3000 AND pg_column_size(body) < 1000), 20::bigint,
		  'storage and compression were in force when the rows were written');
SELECT ok((SELECT count(*) = 6 FROM pg_stats WHERE tablename = 'blob_1' AND schemaname = 'public')
	AND (SELECT reltuples = 20 FROM pg_class WHERE oid = 'blob_1'::regclass), 'the planner knows the new partition');
SELECT isnt((SELECT d.stxdndistinct::text FROM pg_statistic_ext s JOIN pg_statistic_ext_data d ON d.stxoid = s.oid WHERE stxname = 'blob_1_ab'), NULL,
			'... and its extended statistics');
DROP TABLE before;

--
-- Owner, grants with their grantors, column grants
--
CREATE ROLE bft_pers; CREATE ROLE bft_app; CREATE ROLE bft_bi;
GRANT CREATE ON SCHEMA public TO bft_pers;
CREATE TABLE pers (id int PRIMARY KEY, name text, salary int) PARTITION BY RANGE (id);
CREATE TABLE pers_1 PARTITION OF pers FOR VALUES FROM (0) TO (100);
INSERT INTO pers SELECT i, 'n' || i, i FROM generate_series(1, 20) i;
ALTER TABLE pers OWNER TO bft_pers;
ALTER TABLE pers_1 OWNER TO bft_pers;
GRANT SELECT, INSERT ON pers_1 TO bft_app WITH GRANT OPTION;
SET ROLE bft_app;
GRANT SELECT ON pers_1 TO bft_bi;
RESET ROLE;
GRANT SELECT (id, name), UPDATE (name) ON pers_1 TO PUBLIC;
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE bft_pers GRANT SELECT ON TABLES TO PUBLIC;
CREATE TEMP TABLE before AS SELECT l FROM layout('pers_1') l;
SELECT is(rebuild('pers', 'SELECT id, name, salary + 1 AS salary FROM pers'), 'published 1 0', 'privileges: published');
SELECT bag_eq($$ SELECT layout('pers_1') $$, 'TABLE before', 'owner, grants and their grantors are the same');
SELECT is_empty($$ SELECT relname FROM pg_class c WHERE CASE WHEN relkind = 'r' AND relname LIKE 'pers_1%'
					THEN has_column_privilege('public', c.oid, 'salary', 'SELECT') END $$, 'the salary is never public, not in the retired table either');
SELECT ok(has_column_privilege('bft_bi', 'pers_1', 'salary', 'SELECT'), 'who could read it still can');
ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM PUBLIC;
DROP TABLE before;

SELECT * FROM finish();
ROLLBACK;
