-- Whatever the partitioning, the names and the objects: after publish the target holds exactly what the rule yields, after rollback
-- exactly what it held before, and every object is there as before under its name.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO, MDY';
CREATE ROLE regress_kinds_owner;
CREATE SCHEMA kinds_t;
CREATE SCHEMA "Select";
GRANT CREATE, USAGE ON SCHEMA kinds_t, "Select" TO regress_kinds_owner;
SET search_path = kinds_t, public;
SET ROLE regress_kinds_owner;

CREATE FUNCTION objects() RETURNS SETOF text LANGUAGE sql AS $$
  WITH ours AS (SELECT oid, nspname FROM pg_namespace WHERE nspname IN ('kinds_t', 'Select'))
  SELECT concat_ws(' ', n.nspname, c.relkind, c.relname, c.relowner::regrole, c.relpersistence, am.amname, c.reloptions, t.reloptions, c.relacl, c.relispartition,
                   c.relreplident, c.relrowsecurity, c.relforcerowsecurity, pg_get_expr(c.relpartbound, c.oid), obj_description(c.oid, 'pg_class'),
                   pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisprimary, i.indimmediate, i.indisclustered, i.indisreplident,
                   (SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = c.oid))
    FROM pg_class c JOIN ours n ON n.oid = relnamespace LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_am am ON am.oid = c.relam
    LEFT JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.relkind <> 't'
  UNION ALL
  SELECT concat_ws(' ', c.oid::regclass, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage, a.attcompression, a.attidentity,
                   a.attgenerated, nullif(a.attstattarget, -1), a.attislocal, a.attinhcount, a.attacl, col_description(c.oid, a.attnum),
                   (SELECT string_agg(o, ',') FROM unnest(a.attoptions) o WHERE o !~ '^pg_attver'), pg_get_expr(d.adbin, d.adrelid))
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 JOIN ours n ON n.oid = relnamespace
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE c.relkind IN ('r', 'p', 'i') AND NOT a.attisdropped
  UNION ALL
  SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(k.oid), convalidated, condeferrable, condeferred, conislocal, coninhcount,
                   obj_description(k.oid, 'pg_constraint'), (SELECT p.conname FROM pg_constraint p WHERE p.oid = k.conparentid))
    FROM pg_constraint k JOIN ours n ON n.oid = connamespace WHERE contype <> 'n'
  UNION ALL
  SELECT concat_ws(' ', tgrelid::regclass, tgname, tgenabled, obj_description(t.oid, 'pg_trigger')) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
    JOIN ours n ON n.oid = c.relnamespace WHERE tgname !~ '^backfill_guard' AND NOT (tgisinternal AND tgconstraint <> 0)
  UNION ALL
  SELECT concat_ws(' ', pg_get_statisticsobjdef(x.oid), stxstattarget, obj_description(x.oid, 'pg_statistic_ext')) FROM pg_statistic_ext x JOIN ours n ON n.oid = stxnamespace
  UNION ALL
  SELECT concat_ws(' ', polrelid::regclass, polname) FROM pg_policy JOIN pg_class c ON c.oid = polrelid JOIN ours n ON n.oid = c.relnamespace $$;
CREATE FUNCTION difference(a text, b text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM (((%1$s) EXCEPT ALL (%2$s)) UNION ALL ((%2$s) EXCEPT ALL (%1$s))) d', a, b) INTO n;
  RETURN n;
END $$;
-- Publish, roll back, publish, roll back, by both ways to switch; what differs after each from what should be there.
CREATE FUNCTION cycle(target regclass, columns text, rule text, key text[] DEFAULT '{}', partitions regclass[] DEFAULT NULL)
  RETURNS TABLE (way text, step text, swapped int, unchanged int, rows_differ bigint, objects_differ bigint) LANGUAGE plpgsql AS $$
DECLARE
  before text[] := ARRAY(SELECT objects());
  live text := format('SELECT %s FROM %s', columns, target);
  name text := 'cycle ' || (SELECT count(*) FROM backfill.status);
  result record;
BEGIN
  EXECUTE 'CREATE TEMPORARY TABLE old_rows AS ' || live;
  EXECUTE format('CREATE TEMPORARY TABLE new_rows AS SELECT %s FROM (%s) r', columns, rule);
  FOREACH way IN ARRAY '{auto,attach}'::text[] LOOP
    PERFORM backfill_create(name || way, target, rule, all_partitions => partitions IS NULL, partitions => partitions, key => key,
            late_changes => 'ignore', max_lost_keys => NULL, max_shrink => NULL, swap => way);
    PERFORM backfill_build(name || way);
    FOR i IN 1..2 LOOP
      SELECT * INTO result FROM backfill_publish(name || way, again => i = 2);
      RETURN QUERY SELECT (SELECT string_agg(DISTINCT swap, ', ' ORDER BY swap) FROM backfill.partition WHERE version = name || way),
             result.action, result.swapped, result.unchanged, difference(live, 'SELECT * FROM new_rows'),
             (SELECT count(*) FROM unnest(before) WITH ORDINALITY x(o) FULL JOIN objects() y(o) USING (o) WHERE x.o IS NULL OR y.o IS NULL);
      SELECT * INTO result FROM backfill_rollback(name || way);
      RETURN QUERY SELECT NULL, result.action, result.swapped, result.unchanged, difference(live, 'SELECT * FROM old_rows'),
             (SELECT count(*) FROM unnest(before) WITH ORDINALITY x(o) FULL JOIN objects() y(o) USING (o) WHERE x.o IS NULL OR y.o IS NULL);
    END LOOP;
    PERFORM backfill_drop(name || way);
  END LOOP;
  DROP TABLE old_rows, new_rows;
END $$;
CREATE TABLE src AS SELECT i AS id, date '2026-01-01' + i % 100 AS d, (ARRAY['de', 'fr', NULL, ''])[1 + i % 4] AS region,
       2023 + i % 5 AS yr, 1 + i / 5 % 12 AS mon, i / 8.0 AS v FROM generate_series(0, 399) i;

--
-- LIST with NULL: a NULL still goes where it went
--
CREATE TABLE by_list (id int, d date, region text, yr int DEFAULT 0, mon int DEFAULT 0, v numeric DEFAULT 0) PARTITION BY LIST (region);
CREATE TABLE by_list_eu PARTITION OF by_list FOR VALUES IN ('de', 'fr');
CREATE TABLE by_list_none PARTITION OF by_list FOR VALUES IN (NULL, '');
INSERT INTO by_list SELECT * FROM src WHERE id % 3 = 0;
SELECT * FROM cycle('by_list', 'id, d, region, yr, mon, v', 'SELECT * FROM src');
SELECT * FROM cycle('by_list', 'id, d, region', $$SELECT id, d, region FROM src WHERE region IS NULL OR region = ''
                    UNION ALL SELECT id, d, region FROM by_list WHERE region <> ''$$, partitions => '{by_list_none}');
INSERT INTO by_list (id, region) VALUES (-1, NULL), (-2, 'de');

--
-- HASH, two columns, expressions with DEFAULT
--
CREATE TABLE by_hash (LIKE src, PRIMARY KEY (id)) PARTITION BY HASH (id);
CREATE TABLE by_hash_0 PARTITION OF by_hash FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE by_hash_2 PARTITION OF by_hash FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO by_hash SELECT * FROM src WHERE id > 50;
SELECT * FROM cycle('by_hash', 'id, d, region, v', 'SELECT * FROM src', '{id}');
CREATE TABLE by_two (LIKE src) PARTITION BY RANGE (yr, mon);
CREATE TABLE by_two_a PARTITION OF by_two FOR VALUES FROM (MINVALUE, MINVALUE) TO (2024, 11);
CREATE TABLE by_two_b PARTITION OF by_two FOR VALUES FROM (2024, 11) TO (2025, 3);
CREATE TABLE by_two_c PARTITION OF by_two FOR VALUES FROM (2025, 3) TO (2025, MAXVALUE);
CREATE TABLE by_two_d PARTITION OF by_two FOR VALUES FROM (2026, MINVALUE) TO (MAXVALUE, MAXVALUE);
INSERT INTO by_two SELECT * FROM src WHERE yr < 2025;
SELECT * FROM cycle('by_two', 'id, yr, mon', 'SELECT * FROM src');
CREATE FUNCTION fiscal_year(d date) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT extract(year FROM d + 300)::int';
CREATE TABLE by_expression (id int, d date, region text) PARTITION BY RANGE (fiscal_year(d), lower(region));
CREATE TABLE by_expression_26 PARTITION OF by_expression FOR VALUES FROM (2026, MINVALUE) TO (2026, MAXVALUE);
CREATE TABLE by_expression_27 PARTITION OF by_expression FOR VALUES FROM (2027, MINVALUE) TO (2027, MAXVALUE);
CREATE TABLE by_expression_rest PARTITION OF by_expression DEFAULT;
INSERT INTO by_expression SELECT id, d, region FROM src WHERE id < 100;
SELECT * FROM cycle('by_expression', 'id, d, region', 'SELECT id, d, region FROM src UNION ALL SELECT id, d, region FROM src WHERE id < 5');
SELECT * FROM cycle('by_expression', 'id', 'SELECT id + 0 AS id, d, region FROM by_expression', partitions => '{by_expression_27}');

--
-- Sub-partitions, other column orders, a DEFAULT that is partitioned itself
--
CREATE TABLE tree (id int NOT NULL, d date NOT NULL, region text, v numeric) PARTITION BY RANGE (d);
CREATE INDEX tree_region ON tree (region, id);
CREATE TABLE tree_01 PARTITION OF tree FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') PARTITION BY LIST (region);
CREATE TABLE tree_01_eu PARTITION OF tree_01 FOR VALUES IN ('de', 'fr');
CREATE TABLE tree_01_rest PARTITION OF tree_01 DEFAULT;
CREATE TABLE tree_02 PARTITION OF tree FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') PARTITION BY HASH (id);
CREATE TABLE tree_02_0 PARTITION OF tree_02 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE tree_02_1 (v numeric, x int, d date NOT NULL, id int NOT NULL, region text) PARTITION BY RANGE (id);
ALTER TABLE tree_02_1 DROP COLUMN x;
CREATE TABLE tree_02_1_all (region text, id int NOT NULL, v numeric, d date NOT NULL);
ALTER TABLE tree_02_1 ATTACH PARTITION tree_02_1_all FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
ALTER TABLE tree_02 ATTACH PARTITION tree_02_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE tree_rest PARTITION OF tree DEFAULT PARTITION BY LIST (region);
CREATE TABLE tree_rest_de PARTITION OF tree_rest FOR VALUES IN ('de');
CREATE TABLE tree_rest_rest PARTITION OF tree_rest DEFAULT;
INSERT INTO tree SELECT id, d, region, v FROM src WHERE id % 2 = 0;
SELECT * FROM cycle('tree', 'id, d, region, v', 'SELECT id, d, region, v FROM src');
SELECT * FROM cycle('tree', 'id, d, region, v', 'SELECT id, d, region, CASE WHEN d >= ''2026-02-01'' AND d < ''2026-03-01'' THEN v + 1 ELSE v END AS v FROM tree',
                    partitions => '{tree_02}');
SELECT * FROM cycle('tree_01', 'id, d, region, v', 'SELECT id, d, region, v + 1 AS v FROM tree_01');
SELECT tableoid::regclass::text, count(*) FROM tree GROUP BY 1 ORDER BY 1;

--
-- Identity and defaults go on as before; large values; an invalid index, a CLUSTER mark, partition-only constraints
--
CREATE TABLE rich (id int GENERATED ALWAYS AS IDENTITY (START 1000), d date NOT NULL, body text, twice int GENERATED ALWAYS AS (id * 2) STORED)
  PARTITION BY RANGE (d);
CREATE TABLE rich_01 PARTITION OF rich FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO rich (d, body) SELECT date '2026-01-01' + i, (SELECT string_agg(md5(x::text), '') FROM generate_series(1, i * 100) x) FROM generate_series(1, 9) i;
SELECT * FROM cycle('rich', 'id, d, body', 'SELECT id, d, body || ''!'' AS body FROM rich_01');
INSERT INTO rich (d) VALUES ('2026-01-31') RETURNING id, twice;
CREATE TABLE trip (id int NOT NULL, day date NOT NULL, car int, note text) PARTITION BY RANGE (day);
CREATE TABLE trip_01 PARTITION OF trip FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE INDEX trip_car ON trip (car);
INSERT INTO trip SELECT g, date '2026-01-01' + g % 31, g % 10, 'n' || g % 7 FROM generate_series(1, 300) g;
CREATE UNIQUE INDEX trip_only ON trip_01 (id) INCLUDE (car) WITH (fillfactor = 70);
CREATE INDEX trip_part ON trip_01 (lower(note) text_pattern_ops DESC NULLS LAST) WHERE car > 3;
ALTER TABLE trip_01 ADD CONSTRAINT trip_ex EXCLUDE USING btree (id WITH =) DEFERRABLE;
ALTER TABLE trip_01 ADD CONSTRAINT trip_ck CHECK (car < 100) NOT VALID;
ALTER TABLE trip_01 ALTER COLUMN note SET DEFAULT 'january';
ALTER TABLE trip_01 CLUSTER ON trip_only;
COMMENT ON INDEX trip_part IS 'used by search';
CREATE STATISTICS trip_stat ON car, note FROM trip_01;
SELECT * FROM cycle('trip', 'id, day, car, note', 'SELECT id, day, car + 1 AS car, note FROM trip_01', '{id}');
-- an invalid index is left out, so it is gone while the version is live
\set VERBOSITY terse
CREATE UNIQUE INDEX CONCURRENTLY trip_bad ON trip_01 (car);
\set VERBOSITY default
SELECT backfill_create('invalid', 'trip', 'SELECT id, day, car + 1 AS car, note FROM trip_01', all_partitions => true, key => '{id}', late_changes => 'ignore');
SELECT severity, object, finding FROM backfill_plan('invalid') WHERE severity <> 'info';
SELECT partition, state FROM backfill_build('invalid');
SELECT target, action FROM backfill_publish('invalid');
SELECT indexrelid::regclass::text, indisvalid FROM pg_index WHERE indrelid = 'trip_01'::regclass ORDER BY 1;
SELECT target, action FROM backfill_rollback('invalid');
SELECT indexrelid::regclass::text, indisvalid FROM pg_index WHERE indrelid = 'trip_01'::regclass ORDER BY 1;

--
-- What belongs to the partitioned table, and leaves elsewhere: triggers, policies, keys of every sort, a sequence, another schema
--
CREATE FUNCTION trig() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE NOTICE ''% on %'', TG_NAME, TG_TABLE_NAME; RETURN NEW; END';
CREATE TABLE whole (id serial, d date, code text COLLATE "C", n int, note text DEFAULT 'x', CONSTRAINT whole_pk PRIMARY KEY (d, id) DEFERRABLE INITIALLY DEFERRED,
                    CONSTRAINT whole_code UNIQUE NULLS NOT DISTINCT (d, code, n), CONSTRAINT small CHECK (n < 1000)) PARTITION BY RANGE (d);
CREATE TABLE "Select".part PARTITION OF whole FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') WITH (fillfactor = 80, toast.autovacuum_enabled = off);
CREATE TABLE whole_02 (note text DEFAULT 'y', n int, CONSTRAINT small CHECK (n < 1000), d date NOT NULL, id int NOT NULL DEFAULT nextval('whole_id_seq'), code text COLLATE "C");
ALTER TABLE whole ATTACH PARTITION whole_02 FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE INDEX whole_lower ON whole (lower(code)) INCLUDE (n);
CREATE INDEX whole_hash ON whole USING hash (note);
CREATE INDEX on_part ON "Select".part (n) WHERE n > 5;
CREATE STATISTICS "Select".part_stat ON n, code FROM "Select".part;
CREATE STATISTICS other_stat ON n, note FROM "Select".part;
COMMENT ON STATISTICS other_stat IS 'in another schema than its table';
ALTER TABLE "Select".part REPLICA IDENTITY FULL;
ALTER TABLE whole_02 CLUSTER ON whole_02_lower_n_idx;
ALTER TABLE "Select".part ALTER n SET STATISTICS 50, ALTER code SET STORAGE EXTERNAL, ALTER note SET (n_distinct = 3);
CREATE TRIGGER loud AFTER INSERT ON whole FOR EACH ROW WHEN (NEW.n > 500) EXECUTE FUNCTION trig();
CREATE TRIGGER never BEFORE UPDATE ON whole FOR EACH ROW EXECUTE FUNCTION trig();
ALTER TABLE whole DISABLE TRIGGER never;
CREATE POLICY seen ON whole USING (n IS NOT NULL);
ALTER TABLE whole ENABLE ROW LEVEL SECURITY;
COMMENT ON TABLE "Select".part IS 'January';
COMMENT ON COLUMN "Select".part.n IS 'number';
COMMENT ON CONSTRAINT small ON "Select".part IS 'small numbers';
COMMENT ON CONSTRAINT part_pkey ON "Select".part IS 'key of January';
COMMENT ON INDEX "Select".part_note_idx IS 'by note';
GRANT SELECT ON "Select".part TO PUBLIC;
INSERT INTO whole (d, code, n) SELECT date '2026-01-01' + i, 'c' || i, i FROM generate_series(0, 58) i;
SELECT * FROM cycle('whole', 'id, d, code, n, note', 'SELECT id, d, code, n + 1 AS n, note FROM whole', '{d,id}');
-- the trigger and the sequence go on
INSERT INTO whole (d, code, n) VALUES ('2026-01-05', 'new', 501) RETURNING id;
-- and while a version is live
SELECT backfill_create('whole', 'whole', 'SELECT id, d, code, n + 1 AS n, note FROM whole WHERE n < 500', all_partitions => true, late_changes => 'ignore', max_lost_keys => 1);
SELECT count(*) FROM backfill_build('whole');
SELECT target, action, swapped FROM backfill_publish('whole');
INSERT INTO whole (d, code, n) VALUES ('2026-02-05', 'new', 502) RETURNING id;
UPDATE whole SET n = 503 WHERE n = 502;
INSERT INTO whole (d, code, n) VALUES ('2026-02-05', 'new', 503);
SELECT target, action, swapped FROM backfill_rollback('whole', on_writes => 'discard');

--
-- Names that need quoting, and names as long as they may be
--
CREATE TABLE "Select"."Order" ("user" int NOT NULL, "Group" date NOT NULL, "a ""b"" c" text, "x.y" int, "%s %I" int, "it's" int, PRIMARY KEY ("user", "Group"))
  PARTITION BY RANGE ("Group");
CREATE TABLE "Select"."Order.Jan ""26""" PARTITION OF "Select"."Order" FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE "Select"."'; DROP TABLE ""Select"".x; --" PARTITION OF "Select"."Order" FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE "Select".x (keep int);
CREATE TABLE "Select"."дані $1" PARTITION OF "Select"."Order" FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
CREATE INDEX "In dex" ON "Select"."Order" ("x.y") INCLUDE ("it's");
ALTER TABLE "Select"."дані $1" ADD CONSTRAINT "che'ck""" CHECK ("it's" >= 0);
INSERT INTO "Select"."Order" SELECT g, date '2026-01-01' + g % 89, E'back\\slash ''q'' ' || g, g, g, g FROM generate_series(1, 178) g;
SELECT * FROM cycle('"Select"."Order"', '"user", "Group", "a ""b"" c", "it''s"', 'SELECT "user", "Group", "a ""b"" c", "x.y" + 1 AS "x.y", "%s %I", "it''s" FROM "Select"."Order"',
                    '{user,Group}');
SET standard_conforming_strings = off;
SET escape_string_warning = off;
CREATE TABLE k (code text COLLATE "C" NOT NULL, v int) PARTITION BY LIST (code);
CREATE TABLE k1 PARTITION OF k FOR VALUES IN ('O''Neil', E'tab\there', E'a\\b', 'NULL', '');
INSERT INTO k VALUES ('O''Neil', 1), (E'tab\there', 2), (E'a\\b', 3), ('NULL', 4), ('', 5);
SELECT * FROM cycle('k', 'code, v', 'SELECT code, v + 1 AS v FROM k1', '{code}');
RESET standard_conforming_strings;
RESET escape_string_warning;
CREATE TABLE "größen_der_läden_nach_tagen_und_filialen_im_ganzen_lande_x" (day date NOT NULL, store int NOT NULL, PRIMARY KEY (day, store)) PARTITION BY RANGE (day);
CREATE TABLE "größen_der_läden_nach_tagen_und_filialen_im_ganzen_lande_ö1" PARTITION OF "größen_der_läden_nach_tagen_und_filialen_im_ganzen_lande_x"
  FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE "größen_der_läden_nach_tagen_und_filialen_im_ganzen_lande_ö2" PARTITION OF "größen_der_läden_nach_tagen_und_filialen_im_ganzen_lande_x"
  FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE INDEX "größen_der_läden_nach_tagen_und_filialen_im_ganzen_lande_i1" ON "größen_der_läden_nach_tagen_und_filialen_im_ganzen_lande_ö1" (store);
INSERT INTO "größen_der_läden_nach_tagen_und_filialen_im_ganzen_lande_x" SELECT date '2026-01-01' + g, g FROM generate_series(0, 58) g;
SELECT * FROM cycle('größen_der_läden_nach_tagen_und_filialen_im_ganzen_lande_x', 'day, store',
                    'SELECT day, store + 1 AS store FROM "größen_der_läden_nach_tagen_und_filialen_im_ganzen_lande_x"');

RESET ROLE;
SET client_min_messages = warning;
DROP SCHEMA kinds_t, "Select" CASCADE;
DROP EXTENSION backfill CASCADE;
DROP OWNED BY regress_kinds_owner;
DROP ROLE regress_kinds_owner;
