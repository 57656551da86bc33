-- Cases people met: names that must be quoted, and names as long as a name may be.
BEGIN;
SET client_min_messages = error;
SELECT no_plan();
CREATE EXTENSION backfill;

CREATE FUNCTION everything(schema text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT concat_ws(' ', relkind, relname, pg_get_expr(relpartbound, oid), (SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = oid))
	  FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = schema)
	UNION ALL
	SELECT concat_ws(' ', conname, conrelid::regclass, contype) FROM pg_constraint
	 WHERE connamespace = (SELECT oid FROM pg_namespace WHERE nspname = schema)
$$;

--
-- Quotes, percent signs, commands, another alphabet
--
CREATE SCHEMA "Select";
CREATE TABLE "Select"."Order" ("user" int, "Group" date, "a ""b"" c" text, "x.y" int, "%s %I" int, "it's" int, "line
break" int DEFAULT 7, PRIMARY KEY ("user", "Group")) PARTITION BY RANGE ("Group");
CREATE TABLE "Select"."Order.Jan ""26""" PARTITION OF "Select"."Order" FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE "Select"."'; DROP TABLE ""Select"".x; --" PARTITION OF "Select"."Order" FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE "Select".x (keep int);
CREATE TABLE "Select"."дані $1 %d
" PARTITION OF "Select"."Order" FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
CREATE INDEX "%n $$" ON "Select"."Order" ("%s %I", lower("a ""b"" c"));
ALTER TABLE "Select"."Order" ADD CONSTRAINT "ck'%s" CHECK ("it's" > 0);
CREATE STATISTICS "Select"."st""at %s" ON "x.y", "%s %I" FROM "Select"."дані $1 %d
";
COMMENT ON COLUMN "Select"."Order.Jan ""26"""."%s %I" IS 'it''s 100% "quoted" \ $1';
INSERT INTO "Select"."Order" SELECT i, date '2026-01-01' + i % 89, E'back\\slash ''q'' ' || i, i, i, i FROM generate_series(1, 178) i;
CREATE TEMP TABLE before AS SELECT everything('Select') AS e;
SELECT lives_ok($$ SELECT backfill_create('it''s "v1" %s \', '"Select"."Order"', $r$ SELECT "user", "Group", "a ""b"" c" || (parameters->>'%s "'' \') AS "a ""b"" c",
	"x.y" + 1 AS "x.y", "%s %I", "it's" FROM "Select"."Order" WHERE "Group" >= partition_from AND "Group" < partition_to $r$,
	range_from => date '2026-01-01', range_to => date '2026-04-01', parameters => '{"%s \"'' \\": "!"}', code_revision => '''%d') $$, 'quoting: create');
SELECT lives_ok($$ SELECT backfill_add_gate('it''s "v1" %s \', '%d''', total => 'sum("%s %I") + count("it''s")', expect => 'old = new -- %s') $$, 'quoting: add_gate');
SELECT is((SELECT count(*) FROM backfill_plan('it''s "v1" %s \') WHERE severity = 'blocker'), 0::bigint, 'quoting: plan');
SELECT is((SELECT sum(rows) FROM backfill_build('it''s "v1" %s \')), 178::numeric, 'quoting: build');
SELECT is((SELECT count(*) FROM backfill_validate('it''s "v1" %s \') WHERE result <> 'passed'), 0::bigint, 'quoting: validate');
SELECT is((SELECT swapped FROM backfill_publish('it''s "v1" %s \')), 3, 'quoting: publish');
SELECT is((SELECT count(*) FROM "Select"."Order" WHERE "x.y" = "user" + 1 AND "a ""b"" c" LIKE '%!' AND "line
break" = 7), 178::bigint, 'the rows are right');
SELECT bag_eq($$ SELECT everything('Select') $$, 'TABLE before', 'every name and bound is as before');
SELECT has_table('Select', 'x', 'no name was run as a command');
SELECT is((SELECT next_step FROM backfill.status), $$SELECT * FROM backfill_rollback(E'it''s "v1" %s \\')$$, 'the next step can be run as it is');
SELECT is((SELECT action FROM backfill_rollback('it''s "v1" %s \')), 'rolled_back', 'quoting: rollback');
SELECT bag_eq($$ SELECT everything('Select') $$, 'TABLE before', 'every name and bound is as before');
SELECT lives_ok($$ SELECT backfill_drop('it''s "v1" %s \') $$, 'quoting: drop');
DROP TABLE before;

--
-- Bounds that are strings; standard_conforming_strings decides how they are written
--
CREATE TABLE code (code text COLLATE "C", v int, PRIMARY KEY (code)) PARTITION BY LIST (code);
CREATE TABLE code_1 PARTITION OF code FOR VALUES IN ('O''Neil', E'tab\there', E'a\\b', 'NULL', '', 'DEFAULT', '$1 %s');
CREATE TABLE code_2 PARTITION OF code FOR VALUES IN (E'a\\\\b');
INSERT INTO code VALUES ('O''Neil', 1), (E'tab\there', 2), (E'a\\b', 3), ('NULL', 4), ('', 5), ('DEFAULT', 6), ('$1 %s', 7), (E'a\\\\b', 8);
CREATE TEMP TABLE before AS SELECT everything('public') AS e;
SELECT backfill_create('codes', 'code', 'SELECT code, v + 1 AS v FROM code', all_partitions => true);
SET standard_conforming_strings = off;
SELECT is((SELECT sum(rows) FROM backfill_build('codes')), 8::numeric, 'string bounds: built under standard_conforming_strings = off');
SELECT is((SELECT swapped FROM backfill_publish('codes')), 2, 'string bounds: published');
SELECT is((SELECT action FROM backfill_rollback('codes')), 'rolled_back', 'string bounds: rolled back');
SELECT backfill_create('codes 2', 'code', 'SELECT code, v + 1 AS v FROM code', all_partitions => true);
SET standard_conforming_strings = on;
SELECT is((SELECT sum(rows) FROM backfill_build('codes 2')), 8::numeric, 'string bounds: defined off, built on');
SELECT is((SELECT swapped FROM backfill_publish('codes 2')), 2, 'string bounds: published');
SELECT is((SELECT array_agg(v ORDER BY v) FROM code), '{2,3,4,5,6,7,8,9}', 'the rows are right');
SELECT bag_eq($$ SELECT everything('public') $$, 'TABLE before', 'every name and bound is as before');
DROP TABLE before;

--
-- 63 bytes, of letters that take two, different in the last one only
--
CREATE SCHEMA "mässwerte_mit_einem_sehr_sehr_langen_namen_für_den_testfall_x";
SET search_path = "mässwerte_mit_einem_sehr_sehr_langen_namen_für_den_testfall_x", public;
CREATE TABLE readings_of_the_northern_production_hall_number_one_and_two_xyz (id int, d date, v int) PARTITION BY RANGE (d);
CREATE TABLE "größen_der_nördlichen_produktionshalle_im_jahr_2026_mon_xxx1"
	PARTITION OF readings_of_the_northern_production_hall_number_one_and_two_xyz FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE "größen_der_nördlichen_produktionshalle_im_jahr_2026_mon_xxx2"
	PARTITION OF readings_of_the_northern_production_hall_number_one_and_two_xyz FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
ALTER TABLE readings_of_the_northern_production_hall_number_one_and_two_xyz ADD PRIMARY KEY (id, d);
CREATE INDEX ON readings_of_the_northern_production_hall_number_one_and_two_xyz (v);
CREATE INDEX "äääääääääääääääääääääääääääääää1" ON "größen_der_nördlichen_produktionshalle_im_jahr_2026_mon_xxx1" (v, id);
CREATE INDEX "äääääääääääääääääääääääääääääää2" ON "größen_der_nördlichen_produktionshalle_im_jahr_2026_mon_xxx1" (id, v);
CREATE STATISTICS "öööööööööööööööööööööööööööööö1" ON v, id FROM "größen_der_nördlichen_produktionshalle_im_jahr_2026_mon_xxx1";
INSERT INTO readings_of_the_northern_production_hall_number_one_and_two_xyz SELECT i, date '2026-01-01' + i % 59, i FROM generate_series(1, 118) i;
SELECT is((SELECT max(octet_length(relname)) FROM pg_class WHERE relnamespace = current_schema()::regnamespace), 63, 'names of 63 bytes');
CREATE TEMP TABLE before AS SELECT everything(current_schema()) AS e;
SELECT lives_ok($$ SELECT backfill_create('v_ääääääääääääääääääääääääääääää1', 'readings_of_the_northern_production_hall_number_one_and_two_xyz',
	'SELECT id, d, v + 1 AS v FROM readings_of_the_northern_production_hall_number_one_and_two_xyz', all_partitions => true) $$, 'long names: create');
SELECT is((SELECT count(*) FROM backfill_build('v_ääääääääääääääääääääääääääääää1') WHERE state = 'staged'), 2::bigint, 'long names: build');
SELECT is((SELECT swapped FROM backfill_publish('v_ääääääääääääääääääääääääääääää1')), 2, 'long names: publish');
SELECT bag_eq($$ SELECT everything(current_schema()) $$, 'TABLE before', 'every name is as before');
SELECT is((SELECT count(*) FROM readings_of_the_northern_production_hall_number_one_and_two_xyz WHERE v = id + 1), 118::bigint, 'the rows are right');
SELECT is((SELECT swapped FROM backfill_rollback('v_ääääääääääääääääääääääääääääää1')), 2, 'long names: rollback');
SELECT bag_eq($$ SELECT everything(current_schema()) $$, 'TABLE before', 'every name is as before');
SELECT throws_ok($$ SELECT backfill_create('version_with_a_name_of_64_bytes_äääääääääääääääääääääääääääääääää',
	'readings_of_the_northern_production_hall_number_one_and_two_xyz', 'SELECT 1', all_partitions => true) $$, '42602', NULL, 'a version name of more than 63 bytes');

SELECT * FROM finish();
ROLLBACK;
