-- Foreign keys to and from a target that exchanges storage: the constraints stay, no trigger fires, and no row may be left without its
-- match, neither by a publication nor by withdrawing it.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS backfill;
RESET client_min_messages;
CREATE ROLE regress_fk_owner;
CREATE ROLE regress_fk_other;
CREATE SCHEMA fk_t;
CREATE SCHEMA fk_other AUTHORIZATION regress_fk_other;
GRANT CREATE, USAGE ON SCHEMA fk_t TO regress_fk_owner;
SET search_path = fk_t, public;
SET ROLE regress_fk_owner;

-- All validated foreign keys of these schemas hold: asked of the data, not of the constraints.
CREATE FUNCTION broken() RETURNS TABLE (foreign_key text, rows bigint) LANGUAGE plpgsql AS $$
DECLARE
	k record;
BEGIN
	FOR k IN SELECT c.*, CASE f.relkind WHEN 'r' THEN 'ONLY ' ELSE '' END || c.conrelid::regclass AS referencing,
			CASE p.relkind WHEN 'r' THEN 'ONLY ' ELSE '' END || c.confrelid::regclass AS referenced,
			 (SELECT string_agg(format('r.%I%s = p.%I', f.attname,
			  CASE WHEN f.attcollation <> p.attcollation THEN ' COLLATE "C"' END, p.attname), ' AND ') FROM generate_subscripts(c.conkey, 1) i
			  JOIN pg_attribute f ON f.attrelid = c.conrelid AND f.attnum = c.conkey[i]
			  JOIN pg_attribute p ON p.attrelid = c.confrelid AND p.attnum = c.confkey[i]) AS matches,
			(SELECT string_agg(format('r.%I IS NOT NULL', f.attname), ' AND ') FROM unnest(c.conkey) n
			  JOIN pg_attribute f ON f.attrelid = c.conrelid AND f.attnum = n) AS given
		FROM pg_constraint c JOIN pg_class f ON f.oid = c.conrelid JOIN pg_class p ON p.oid = c.confrelid WHERE c.contype = 'f' AND c.conparentid = 0 AND c.convalidated AND c.connamespace = 'fk_t'::regnamespace
		ORDER BY c.conname, c.conrelid::regclass::text
	LOOP
		EXECUTE format('SELECT count(*) FROM %s r WHERE %s AND NOT EXISTS (SELECT FROM %s p WHERE %s)', k.referencing, k.given,
			k.referenced, k.matches) INTO rows;
		foreign_key := k.conname;
		IF rows > 0 THEN
			RETURN NEXT;
		END IF;
	END LOOP;
END $$;

-- Creates and builds a version and shows its foreign keys, and what is red.
CREATE FUNCTION make(version text, target regclass, rule text, key name[] DEFAULT NULL) RETURNS text
LANGUAGE plpgsql SET client_min_messages = warning AS $$
BEGIN
	PERFORM backfill_create(version, target, rule, key => key, all_partitions => true, late_changes => 'ignore', max_lost_keys => NULL,
		max_shrink => NULL, swap => 'storage', match => CASE WHEN rule ~ '^VALUES' THEN 'position' ELSE 'name' END);
	PERFORM backfill_build(version);
	RETURN (SELECT string_agg(concat_ws(' ', gate, result, coalesce(old, '-'), coalesce(new, '-'), difference), E'\n' ORDER BY gate)
			  FROM backfill_validate(version) WHERE gate ~ '^foreign key' OR result = 'failed');
END $$;

--
-- Both directions at once; two columns, other types at the other end, quoted names, another order of columns in a leaf
--
CREATE TABLE store (id bigint PRIMARY KEY);
INSERT INTO store SELECT generate_series(1, 5);
CREATE TABLE t (d int, "Key" int, store int, v int, PRIMARY KEY ("Key", d), CONSTRAINT t_store FOREIGN KEY (store) REFERENCES store)
 PARTITION BY RANGE (d);
CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (10);
CREATE TABLE t_1 (v int, gone int, store int, "Key" int NOT NULL, d int NOT NULL);
ALTER TABLE t_1 DROP COLUMN gone;
ALTER TABLE t ATTACH PARTITION t_1 FOR VALUES FROM (10) TO (20);
INSERT INTO t SELECT d, k, 1 + k % 3, 0 FROM generate_series(0, 19) d, generate_series(1, 20) k;
CREATE TABLE line ("Day" bigint, k smallint, note text, CONSTRAINT "Line's key" FOREIGN KEY (k, "Day") REFERENCES t ON DELETE CASCADE);
INSERT INTO line VALUES (3, 1, 'a'), (3, 1, 'b'), (15, 20, 'c'), (NULL, 7, 'no day'), (999, NULL, 'no key');
SELECT make('all there', 't', 'SELECT d, "Key", store, v + 1 AS v FROM t');
SELECT severity, object, finding, hint FROM backfill_plan('all there') WHERE finding ~ 'writers';
-- keys vanish and none of them is referred to; values are new and have a match
SELECT make('fine', 't', 'SELECT d, "Key", CASE WHEN "Key" = 9 THEN 5 ELSE store END AS store, 1 AS v FROM t WHERE "Key" NOT BETWEEN 2 AND 8');
-- what is red shows up to 10 keys
SELECT make('red', 't', 'SELECT d, "Key", CASE WHEN "Key" = 9 THEN 50 ELSE store END AS store, 1 AS v FROM t WHERE "Key" > 1');
SELECT gate, partition, result, old, new, difference, expect, samples FROM (SELECT DISTINCT ON (gate, partition) * FROM backfill.evidence
 WHERE version = 'red' AND gate ~ '^foreign' ORDER BY gate, partition, measured_at DESC) e ORDER BY gate, partition;
SELECT action FROM backfill_publish('red');
\echo :SQLSTATE
SELECT backfill_waive('red', 'foreign key t_store', 'why not');
\echo :SQLSTATE
SELECT backfill_add_gate('fine', 'foreign key mine', total => 'count(*)', expect => 'equal');
\echo :SQLSTATE
-- constraints are where they were, and enforced
CREATE TABLE constraints AS SELECT oid, conname, conrelid, confrelid FROM pg_constraint WHERE contype = 'f' AND connamespace = 'fk_t'::regnamespace;
SELECT action, swapped FROM backfill_publish('all there');
-- nothing vanished and nothing was new, so nobody had to be kept out
BEGIN;
SET LOCAL client_min_messages = error;
SELECT action, swapped FROM backfill_rollback('all there');
SELECT relation::regclass, mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('line'::regclass, 'store'::regclass)
 AND mode <> 'AccessShareLock' ORDER BY 1, 2;
COMMIT;
SELECT action, swapped FROM backfill_publish('all there', again => true);
SELECT make('next', 't', 'SELECT d, "Key", CASE WHEN "Key" = 9 THEN 5 ELSE store END AS store, 1 AS v FROM t WHERE "Key" NOT BETWEEN 2 AND 8');
BEGIN;
SET LOCAL client_min_messages = error;
SELECT action, swapped FROM backfill_publish('next');
SELECT relation::regclass, mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation IN ('line'::regclass, 'store'::regclass)
 AND mode <> 'AccessShareLock' ORDER BY 1, 2;
COMMIT;
SELECT * FROM broken();
SELECT count(*) FROM line;
(TABLE constraints EXCEPT SELECT oid, conname, conrelid, confrelid FROM pg_constraint)
 UNION ALL (SELECT oid, conname, conrelid, confrelid FROM pg_constraint WHERE contype = 'f' AND connamespace = 'fk_t'::regnamespace EXCEPT TABLE constraints);
INSERT INTO line VALUES (3, 2);
\echo :SQLSTATE
DELETE FROM store WHERE id = 5;
\echo :SQLSTATE
INSERT INTO t VALUES (3, 2, 60, 0);
\echo :SQLSTATE
-- the other direction: what came to be referred to, and what went, since
INSERT INTO store VALUES (60);
SELECT make('more', 't', 'SELECT d, "Key", 60 AS store, v FROM t UNION ALL SELECT d, "Key" + 100, 60, v FROM t');
SELECT action, swapped FROM backfill_publish('more');
INSERT INTO line SELECT 4, k, 'new' FROM generate_series(109, 120) k;
SELECT action FROM backfill_rollback('more');
\echo :SQLSTATE
DELETE FROM line WHERE note = 'new';
DELETE FROM store WHERE id IN (1, 2);
SELECT action FROM backfill_rollback('more');
\echo :SQLSTATE
INSERT INTO store VALUES (1), (2);
SELECT action, swapped FROM backfill_rollback('more');
SELECT * FROM broken();

--
-- Several versions in one call: only what was live first and what will be live last counts
--
SELECT make('fewer', 't', 'SELECT d, "Key", store, v FROM t WHERE "Key" <> 10');
SELECT action FROM backfill_publish('fewer');
SELECT make('again', 't', 'SELECT d, "Key", store, v FROM t UNION ALL SELECT d, 10, store, v FROM t WHERE "Key" = 11');
SELECT action FROM backfill_publish('again');
INSERT INTO line VALUES (5, 10, 'refers to what fewer had not');
SELECT action FROM backfill_rollback('again');
SELECT action, swapped FROM backfill_rollback('again', "to" => 'next');
SELECT * FROM broken();

--
-- Foreign keys that come, go, change and are validated make evidence stale
--
SELECT make('stale', 't', 'SELECT d, "Key", store, 7 AS v FROM t');
CREATE TABLE later (k int, d int);
ALTER TABLE later ADD CONSTRAINT later FOREIGN KEY (k, d) REFERENCES t NOT VALID;
SELECT action FROM backfill_publish('stale');
\echo :SQLSTATE
SELECT gate, result, old, new, difference FROM backfill_validate('stale') WHERE gate ~ 'later';
ALTER TABLE later VALIDATE CONSTRAINT later;
SELECT action FROM backfill_publish('stale');
SELECT gate, result, old, new, difference FROM backfill_validate('stale') WHERE gate ~ 'later';
ALTER TABLE later RENAME CONSTRAINT later TO renamed;
SELECT action FROM backfill_publish('stale');
SELECT gate, result, old, new, difference FROM backfill_validate('stale') WHERE gate ~ 'later|renamed';
ALTER TABLE later DROP CONSTRAINT renamed;
SELECT gate, result FROM backfill_validate('stale') WHERE gate ~ '^foreign';
SELECT action FROM backfill_publish('stale');
-- the gates of a version that is live are its record
ALTER TABLE later ADD CONSTRAINT later FOREIGN KEY (k, d) REFERENCES t;
ALTER TABLE line DROP CONSTRAINT "Line's key";
SELECT gate, result, difference FROM backfill_validate('stale') WHERE gate ~ '^foreign';

--
-- Constraints of one name; a unique key with NULLs; more keys than are remembered; a key of an array
--
CREATE TABLE u (p int, a int[], b text COLLATE "C", UNIQUE (a, b, p)) PARTITION BY LIST (p);
CREATE TABLE u_1 PARTITION OF u FOR VALUES IN (1);
INSERT INTO u SELECT 1, ARRAY[i], 'b' FROM generate_series(1, 30) i;
INSERT INTO u VALUES (1, NULL, 'b'), (1, NULL, NULL), (1, '{1,2}', 'c');
CREATE TABLE r1 (a int[], b varchar COLLATE "POSIX", p int, CONSTRAINT ref FOREIGN KEY (a, b, p) REFERENCES u (a, b, p) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE r2 (a int[], b text, p int, CONSTRAINT ref FOREIGN KEY (a, b, p) REFERENCES u (a, b, p));
INSERT INTO r1 VALUES ('{1,2}', 'c', 1), (NULL, 'z', 8);
SELECT make('arrays', 'u', $$ SELECT p, a, b FROM u WHERE a = '{1,2}' $$, '{}');
INSERT INTO r2 VALUES ('{7}', 'b', 1), ('{8}', 'b', 1);
SELECT action FROM backfill_publish('arrays');
TRUNCATE r2;
SELECT action FROM backfill_publish('arrays');
CREATE TABLE many (p int, k int, PRIMARY KEY (p, k)) PARTITION BY LIST (p);
CREATE TABLE many_1 PARTITION OF many FOR VALUES IN (1);
INSERT INTO many SELECT 1, i FROM generate_series(1, 5000) i;
CREATE TABLE of_many (p int, k int, FOREIGN KEY (p, k) REFERENCES many);
INSERT INTO of_many VALUES (1, 5000);
SELECT make('emptied', 'many', 'SELECT p, k FROM many WHERE k = 5000');
INSERT INTO of_many SELECT 1, i FROM generate_series(21, 40) i;
SELECT action FROM backfill_publish('emptied');
\echo :SQLSTATE
DELETE FROM of_many WHERE k < 100;
SELECT action FROM backfill_publish('emptied');
SELECT * FROM broken();

--
-- MATCH FULL and MATCH SIMPLE; a partitioned table at the other end; children of a plain one are not in it
--
CREATE TABLE zone (a int, b int, PRIMARY KEY (a, b)) PARTITION BY RANGE (a);
CREATE TABLE zone_0 PARTITION OF zone FOR VALUES FROM (0) TO (10);
CREATE TABLE zone_1 PARTITION OF zone FOR VALUES FROM (10) TO (20);
INSERT INTO zone VALUES (1, 1), (11, 11);
CREATE TABLE plain (a int PRIMARY KEY);
INSERT INTO plain VALUES (1);
CREATE TABLE child (b int) INHERITS (plain);
INSERT INTO child VALUES (2, 2);
CREATE TABLE m (k int PRIMARY KEY, a int, b int, c int, e int, p int CONSTRAINT in_plain REFERENCES plain,
	CONSTRAINT in_full FOREIGN KEY (a, b) REFERENCES zone MATCH FULL, CONSTRAINT in_simple FOREIGN KEY (c, e) REFERENCES zone) PARTITION BY RANGE (k);
CREATE TABLE m_0 PARTITION OF m FOR VALUES FROM (0) TO (100);
SELECT make('nulls', 'm', 'VALUES (1, 1, 1, 1, NULL, 1), (2, NULL, NULL, NULL, 99, NULL), (3, 11, 11, 11, 11, 1)');
SELECT make('part of it', 'm', 'VALUES (1, 1, NULL, 1, 1, 1), (2, NULL, 7, NULL, NULL, 2), (3, 11, 12, 11, 12, NULL)');
SELECT gate, samples FROM (SELECT DISTINCT ON (gate) * FROM backfill.evidence WHERE version = 'part of it' AND gate ~ '^foreign'
 ORDER BY gate, measured_at DESC) e ORDER BY gate;
SELECT action FROM backfill_publish('nulls');
SELECT * FROM broken();
-- referred to from a partition and from a child; the child's rows are not the constraint's
CREATE TABLE by_part (k int REFERENCES m) PARTITION BY LIST (k);
CREATE TABLE by_part_1 PARTITION OF by_part FOR VALUES IN (1);
CREATE TABLE by_plain (k int REFERENCES m);
CREATE TABLE by_child () INHERITS (by_plain);
INSERT INTO by_part VALUES (1);
INSERT INTO by_child VALUES (2);
SELECT make('third', 'm', 'SELECT * FROM m WHERE k = 3');
TRUNCATE by_part;
SELECT gate, result, old, new FROM backfill_validate('third') WHERE gate ~ 'by_';
SELECT action FROM backfill_publish('third');

--
-- Above the target, and of one leaf alone
--
CREATE TABLE top (a int, b int, k int, s bigint CONSTRAINT top_store REFERENCES store, PRIMARY KEY (a, b, k)) PARTITION BY LIST (a);
CREATE TABLE mid PARTITION OF top FOR VALUES IN (1) PARTITION BY RANGE (b);
CREATE TABLE mid_0 PARTITION OF mid FOR VALUES FROM (0) TO (10);
CREATE TABLE mid_1 (k int NOT NULL, s bigint, b int NOT NULL, a int NOT NULL);
ALTER TABLE mid ATTACH PARTITION mid_1 FOR VALUES FROM (10) TO (20);
CREATE TABLE beside PARTITION OF top FOR VALUES IN (2);
INSERT INTO top SELECT a, b, b, 3 FROM generate_series(1, 2) a, generate_series(0, 19) b;
ALTER TABLE mid_1 ADD UNIQUE (k);
ALTER TABLE mid_1 ADD CONSTRAINT leaf_store FOREIGN KEY (k) REFERENCES store NOT VALID;
CREATE TABLE of_top (a int, b int, k int, CONSTRAINT of_top FOREIGN KEY (a, b, k) REFERENCES top);
CREATE TABLE of_mid (a int, b int, k int, CONSTRAINT of_mid FOREIGN KEY (a, b, k) REFERENCES mid);
CREATE TABLE of_leaf (k int CONSTRAINT of_leaf REFERENCES mid_1 (k));
INSERT INTO of_top VALUES (1, 4, 4), (2, 4, 4);
INSERT INTO of_mid VALUES (1, 14, 14);
INSERT INTO of_leaf VALUES (15);
SELECT make('mid', 'mid', 'SELECT a, b, k, s FROM mid WHERE k NOT IN (4, 14, 15) UNION ALL SELECT 1, 5, 500, 77 UNION ALL SELECT 1, 15, 600, 3');
SELECT gate, partition, result, old, new, difference, samples FROM (SELECT DISTINCT ON (gate, partition) * FROM backfill.evidence
 WHERE version = 'mid' AND gate ~ '^foreign' ORDER BY gate, partition, measured_at DESC) e ORDER BY gate, partition;
TRUNCATE of_top, of_mid, of_leaf;
INSERT INTO store VALUES (77);
INSERT INTO store SELECT generate_series(10, 19);
SELECT gate, result, old, new FROM backfill_validate('mid') WHERE gate ~ '^foreign';
SELECT action, swapped FROM backfill_publish('mid');
INSERT INTO of_leaf VALUES (15);
\echo :SQLSTATE
SELECT action, swapped FROM backfill_rollback('mid');
INSERT INTO of_leaf VALUES (15);
-- validated, it counts; a value of the leaf's own constraint is new
ALTER TABLE mid_1 VALIDATE CONSTRAINT leaf_store;
SELECT make('leaf', 'mid', 'SELECT a, b, k, s FROM mid UNION ALL SELECT 1, 11, 900, 3 UNION ALL SELECT 1, 6, 901, 3');
SELECT * FROM broken();

--
-- The owner of the target asks, so it must be allowed to
--
SET ROLE regress_fk_other;
CREATE TABLE fk_other.place (id int PRIMARY KEY);
INSERT INTO fk_other.place VALUES (1), (2);
GRANT USAGE ON SCHEMA fk_other TO regress_fk_owner;
GRANT REFERENCES ON fk_other.place TO regress_fk_owner;
SET ROLE regress_fk_owner;
CREATE TABLE g (k int PRIMARY KEY, place int CONSTRAINT g_place REFERENCES fk_other.place) PARTITION BY RANGE (k);
CREATE TABLE g_0 PARTITION OF g FOR VALUES FROM (0) TO (10);
INSERT INTO g VALUES (1, 1);
SELECT make('granted', 'g', 'VALUES (1, 1), (2, 1)');
\echo :SQLSTATE
SET ROLE regress_fk_other;
GRANT SELECT (id) ON fk_other.place TO regress_fk_owner;
REVOKE USAGE ON SCHEMA fk_other FROM regress_fk_owner;
SET ROLE regress_fk_owner;
SELECT make('granted', 'g', 'VALUES (1, 1), (2, 1)');
SET ROLE regress_fk_other;
GRANT USAGE ON SCHEMA fk_other TO regress_fk_owner;
SET ROLE regress_fk_owner;
SELECT make('granted', 'g', 'VALUES (1, 1), (2, 1)');
SELECT action FROM backfill_publish('granted');
-- to keep writers out takes more than to read
SELECT make('locked', 'g', 'VALUES (1, 2)');
SELECT action FROM backfill_publish('locked');
\echo :SQLSTATE
SET ROLE regress_fk_other;
GRANT UPDATE ON fk_other.place TO regress_fk_owner;
SET ROLE regress_fk_owner;
SELECT action FROM backfill_publish('locked');

RESET ROLE;
SET client_min_messages = error;
DROP EXTENSION backfill CASCADE;
DROP SCHEMA fk_t, fk_other CASCADE;
DROP OWNED BY regress_fk_owner, regress_fk_other;
DROP ROLE regress_fk_owner, regress_fk_other;
