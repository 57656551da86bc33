-- Cases people met: what a swap would lose or break is found before anything is built, and named.
BEGIN;
SET client_min_messages = error;
SELECT no_plan();
CREATE EXTENSION backfill;
CREATE SCHEMA c;
SET search_path = c, public;

/* the refusal of create, as "message / detail / hint"; NULL when it succeeds */
CREATE FUNCTION refusal(target regclass, rule text, options text DEFAULT 'all_partitions => true, key => ''{id}''') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE format('SELECT backfill_create(''x'', %L, %L, %s, swap => ''attach'')', target, rule, options);
	PERFORM backfill_drop('x');
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' / ', SQLSTATE, SQLERRM, detail, hint);
END $$;
/* the blockers that plan lists for a version that was defined before they came */
CREATE FUNCTION blockers(version text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT object || ': ' || finding FROM backfill_plan(version) WHERE severity = 'blocker'
$$;
CREATE TABLE sale (id int, day date, amt int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE sale_1 PARTITION OF sale FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE sale_2 PARTITION OF sale FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO sale SELECT i, date '2026-01-01' + i % 59, i FROM generate_series(1, 118) i;
SELECT backfill_create('early', 'sale', 'SELECT id, day, amt + 1 AS amt FROM sale', all_partitions => true, swap => 'attach');
SELECT is_empty($$ SELECT blockers('early') $$, 'nothing is in the way of a plain target');

--
-- Foreign keys, both ways
--
CREATE TABLE line (sale_id int, sale_day date, CONSTRAINT line_sale FOREIGN KEY (sale_id, sale_day) REFERENCES sale ON DELETE CASCADE);
INSERT INTO line SELECT id, day FROM sale;
SELECT matches(refusal('sale', 'SELECT id, day, amt FROM sale'), '^0A000 .*foreign key of c.line points at the target.*line_sale', 'a foreign key that points at the target is named');
SELECT set_eq($$ SELECT blockers('early') $$, ARRAY['line_sale: foreign key of c.line points at the target'], '... in plan, too');
SELECT throws_ok($$ SELECT * FROM backfill_build('early') $$, '0A000', NULL, '... and build refuses');
SELECT is((SELECT count(*) FROM line), 118::bigint, 'no row was deleted by the foreign key');
DROP TABLE line;
CREATE TABLE shop (id int PRIMARY KEY);
INSERT INTO shop VALUES (1);
ALTER TABLE sale ADD COLUMN shop int REFERENCES shop;
SELECT matches(refusal('sale', 'SELECT id, day, amt, 1 AS shop FROM sale'), '^0A000 .*sale_shop_fkey', 'a foreign key of the target is named');
ALTER TABLE sale DROP COLUMN shop;

--
-- Whatever names the partition itself and would stay on the replaced table
--
CREATE VIEW v_1 AS SELECT sum(amt) AS s FROM sale_1;
CREATE MATERIALIZED VIEW mv_1 AS SELECT * FROM sale_1;
CREATE FUNCTION f_row() RETURNS SETOF sale_1 LANGUAGE sql AS 'SELECT * FROM sale';
CREATE FUNCTION f_atomic() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM sale_1; END;
CREATE TABLE keep_row (r sale_1);
CREATE RULE on_1 AS ON UPDATE TO sale_1 DO ALSO NOTIFY x;
CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER t_1 BEFORE INSERT ON sale_1 FOR EACH ROW EXECUTE FUNCTION tf();
CREATE TRIGGER t_all BEFORE INSERT ON sale FOR EACH ROW EXECUTE FUNCTION tf();
CREATE TABLE other (id int);
CREATE POLICY p_other ON other USING (id IN (SELECT id FROM sale_1));
CREATE SEQUENCE seq_1 OWNED BY sale_1.amt;
SELECT is((SELECT count(*) FROM blockers('early') b WHERE b ~ what), 1::bigint, 'named: ' || what)
  FROM unnest(ARRAY['view c.v_1', 'materialized view c.mv_1', 'function c.f_row\(\)', 'function c.f_atomic\(\)', 'c.keep_row', 'on_1: rule',
					't_1: trigger', 'p_other', 'seq_1: sequence']) what;
SELECT is_empty($$ SELECT b FROM blockers('early') b WHERE b ~ 't_all' $$, 'a trigger of the target itself is no obstacle');
SELECT isnt(refusal('sale', 'SELECT id, day, amt FROM sale'), NULL, 'create refuses');
DROP VIEW v_1; DROP MATERIALIZED VIEW mv_1; DROP FUNCTION f_row(); DROP FUNCTION f_atomic(); DROP TABLE keep_row; DROP RULE on_1 ON sale_1;
DROP TRIGGER t_1 ON sale_1; DROP TABLE other; DROP SEQUENCE seq_1;
SELECT is_empty($$ SELECT blockers('early') $$, 'when they are gone, nothing is in the way');

--
-- Row security of the partition; a role that sees fewer rows
--
CREATE POLICY p_1 ON sale_1 USING (amt > 0);
ALTER TABLE sale_2 ENABLE ROW LEVEL SECURITY;
SELECT set_eq($$ SELECT blockers('early') $$, ARRAY['p_1: row security policy of partition c.sale_1 would be lost',
	'c.sale_2: row security of the partition would be lost'], 'row security of partitions is named');
DROP POLICY p_1 ON sale_1;
ALTER TABLE sale_2 DISABLE ROW LEVEL SECURITY;

--
-- Publications
--
CREATE PUBLICATION pub_root FOR TABLE sale;
CREATE PUBLICATION pub_leaf FOR TABLE sale_1 (id, day) WHERE (id < 50);
CREATE PUBLICATION pub_schema FOR TABLES IN SCHEMA c;
CREATE PUBLICATION pub_all FOR ALL TABLES;
SELECT is((SELECT count(*) FROM blockers('early') b WHERE b LIKE what || ': publication%'), 1::bigint, 'named: publication ' || what)
  FROM unnest(ARRAY['pub_root', 'pub_leaf', 'pub_schema', 'pub_all']) what;
DROP PUBLICATION pub_root, pub_leaf, pub_schema, pub_all;

--
-- A partition that is half detached, unlogged, foreign, of another owner or type
--
SET allow_system_table_mods = on;
UPDATE pg_inherits SET inhdetachpending = true WHERE inhrelid = 'sale_1'::regclass;	/* as DETACH CONCURRENTLY leaves it when cancelled */
SELECT matches(refusal('sale', 'SELECT id, day, amt FROM sale', 'partitions => ''{c.sale_1}'''), 'pending detach.*FINALIZE', 'a partition that is pending detach');
SELECT isnt_empty($$ SELECT b FROM blockers('early') b WHERE b ~ 'pending detach' $$, '... is listed by plan');
UPDATE pg_inherits SET inhdetachpending = false WHERE inhrelid = 'sale_1'::regclass;
RESET allow_system_table_mods;
CREATE TABLE loose (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
CREATE UNLOGGED TABLE loose_1 PARTITION OF loose FOR VALUES FROM (0) TO (10);
SELECT matches(refusal('loose', 'SELECT 1 AS id, 1 AS v'), 'partition is not a permanent table.*c.loose_1', 'an unlogged partition');
CREATE FOREIGN DATA WRAPPER fdw;
CREATE SERVER far FOREIGN DATA WRAPPER fdw;
CREATE TABLE mixed (id int, v int) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE mixed_1 PARTITION OF mixed FOR VALUES FROM (0) TO (10) SERVER far;
CREATE TABLE mixed_2 PARTITION OF mixed FOR VALUES FROM (10) TO (20);
SELECT matches(refusal('mixed', 'SELECT 1 AS id, 1 AS v'), 'partition is a foreign table.*c.mixed_1', 'a foreign partition');
SELECT is(refusal('mixed', 'SELECT 11 AS id, 1 AS v', 'partitions => ''{c.mixed_2}'', key => ''{id}'''), NULL, '... but its neighbour may be rebuilt');

--
-- What no later session could build again; a step mistaken by some digits
--
CREATE TEMP TABLE scratch (id int, v int);
SELECT matches(refusal('mixed', 'SELECT id, v FROM scratch', 'partitions => ''{c.mixed_2}'', key => ''{id}'''), '^0A000 .*temporary table "scratch"',
			   'a temporary source');
SELECT matches(refusal('mixed', 'SELECT 11 AS id, 1 AS v', 'range_from => 20, range_to => 2000000000, gaps => ''create'', step => ''1'', key => ''{id}'''),
			   '^22023 .*more than 10000 partitions', 'partitions by the million');

--
-- What changes between build and publish
--
CREATE TABLE cd (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
CREATE TABLE cd_1 PARTITION OF cd FOR VALUES FROM (0) TO (100);
CREATE TABLE cd_2 PARTITION OF cd FOR VALUES FROM (100) TO (200);
INSERT INTO cd SELECT i, i FROM generate_series(0, 199) i;
SELECT backfill_create('cd', 'cd', 'SELECT id, v + 1 AS v FROM cd', partitions => '{c.cd_1}', swap => 'attach');
SELECT count(*) FROM backfill_build('cd') \g /dev/null
CREATE FUNCTION publish_after(ddl text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	BEGIN
		EXECUTE ddl;
		BEGIN
			SELECT action INTO result FROM backfill_publish('cd');
		EXCEPTION WHEN OTHERS THEN
			result := 'refused ' || SQLSTATE;
		END;
		result := result || ', ' || (SELECT count(*) FILTER (WHERE v = id) || ' old' FROM cd);
		RAISE EXCEPTION 'undo';
	EXCEPTION WHEN raise_exception THEN
		RETURN result;
	END;
END $$;
SELECT alike(publish_after(ddl), 'refused %, 200 old', 'publish refuses after ' || ddl) FROM unnest(ARRAY[
	'ALTER TABLE cd ADD COLUMN extra int NOT NULL DEFAULT 5', 'ALTER TABLE cd ALTER COLUMN v TYPE bigint',
	'CREATE INDEX ON cd (v)', 'ALTER TABLE cd ADD CHECK (v < 1000)', 'ALTER TABLE cd ALTER COLUMN v SET NOT NULL', 'ALTER TABLE cd ALTER COLUMN v SET DEFAULT 3',
	'GRANT SELECT ON cd_1 TO PUBLIC', 'GRANT SELECT (v) ON cd_1 TO PUBLIC', 'CREATE INDEX ON cd_1 (v)', 'ALTER TABLE cd_1 ENABLE ROW LEVEL SECURITY',
	'ALTER TABLE cd_1 ADD FOREIGN KEY (v) REFERENCES shop NOT VALID',
	'CREATE VIEW v AS SELECT * FROM cd_1', 'CREATE TRIGGER t BEFORE UPDATE ON cd_1 FOR EACH ROW EXECUTE FUNCTION tf()', 'CREATE PUBLICATION p FOR TABLE cd_1']) ddl;
SELECT matches(publish_after(ddl), '^refused ', 'publish refuses after ' || ddl) FROM unnest(ARRAY[
	'ALTER TABLE cd DETACH PARTITION cd_1', 'DROP TABLE cd_1', 'UPDATE cd SET v = v WHERE id = 1', 'UPDATE cd_1 SET v = v WHERE id = 1', 'TRUNCATE cd_1',
	'ALTER TABLE cd DETACH PARTITION cd_1; UPDATE cd_1 SET v = 7; ALTER TABLE cd ATTACH PARTITION cd_1 FOR VALUES FROM (0) TO (100)',
	'SET LOCAL session_replication_role = replica; DELETE FROM cd WHERE id = 1', 'ALTER TABLE cd_1 DISABLE TRIGGER USER; UPDATE cd SET v = v WHERE id = 1']) ddl;
SELECT is(publish_after('UPDATE cd SET v = v WHERE id = 150'), 'published, 100 old', 'a write to another partition does not matter');
SELECT is(publish_after('ALTER TABLE cd RENAME TO cd2; CREATE VIEW cd AS SELECT * FROM cd2'), 'published, 100 old', 'a new name of the target does not matter');
SELECT is(publish_after('ALTER TABLE cd_1 RENAME TO cd_first'), 'published, 100 old', '... or of the partition');

--
-- Event triggers see every step, and may veto
--
CREATE TABLE ddl_log (tag text, ident text);
GRANT ALL ON ddl_log TO PUBLIC;
CREATE FUNCTION log_ddl() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO c.ddl_log SELECT command_tag, object_identity FROM pg_event_trigger_ddl_commands(); END $$;
CREATE FUNCTION veto_attach() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
	IF EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('c.cd_1') AND relispartition) THEN
		RAISE EXCEPTION 'not today'; END IF; END $$;
CREATE EVENT TRIGGER bft_log ON ddl_command_end EXECUTE FUNCTION log_ddl();
SELECT backfill_create('seen', 'cd', 'SELECT id, v + 1 AS v FROM cd', partitions => '{c.cd_1}');
SELECT count(*) FROM backfill_build('seen') \g /dev/null
SELECT isnt_empty($$ SELECT 1 FROM ddl_log WHERE tag = 'CREATE TABLE' AND ident LIKE 'backfill_staging.cd_1%' $$, 'an event trigger sees the staged table');
SELECT isnt_empty($$ SELECT 1 FROM ddl_log WHERE tag = 'CREATE INDEX' AND ident LIKE 'backfill_staging.cd_1_pkey%' $$, '... and its index');
TRUNCATE ddl_log;
CREATE EVENT TRIGGER bft_veto ON ddl_command_end WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION veto_attach();
SELECT throws_ok($$ SELECT * FROM backfill_publish('seen') $$, 'P0001', 'not today', 'a veto stops publish with its own message');
SELECT is((SELECT count(*) FILTER (WHERE v = id) FROM cd), 200::bigint, '... and nothing has changed');
DROP EVENT TRIGGER bft_veto;
SELECT is((SELECT action FROM backfill_publish('seen')), 'published', 'without it, publish goes through');
SELECT cmp_ok((SELECT count(*) FROM ddl_log WHERE tag = 'ALTER TABLE' AND ident = 'c.cd'), '>=', 2::bigint, '... and its DETACH and ATTACH were seen');
DROP EVENT TRIGGER bft_log;

SELECT * FROM finish();
ROLLBACK;
