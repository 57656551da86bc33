-- Cases people met: totals that lie, and data that only looks the same.
BEGIN;
SET client_min_messages = error;
SELECT no_plan();
CREATE EXTENSION backfill;

CREATE TABLE src (id int PRIMARY KEY, f4 real, f8 float8, n numeric, b bigint, c money, j jsonb, t text, a int[]);
INSERT INTO src SELECT i, 1234.5678, CASE i % 3 WHEN 0 THEN 1e15 WHEN 1 THEN 1 ELSE -1e15 END, i / 7.0, 9e18::bigint, 90000000000000000::money,
	jsonb_build_object('i', i), repeat(md5(i::text), i), ARRAY[i, NULL] FROM generate_series(1, 300) i;
UPDATE src SET n = 'NaN' WHERE id = 100;
UPDATE src SET n = NULL WHERE id = 99;
UPDATE src SET f8 = '-0' WHERE id = 98;
UPDATE src SET n = 1.50 WHERE id = 97;
UPDATE src SET f8 = 'NaN', t = NULL WHERE id = 96;
CREATE TABLE tgt (LIKE src, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE tgt_1 PARTITION OF tgt FOR VALUES FROM (1) TO (301);
INSERT INTO tgt SELECT * FROM src ORDER BY f8, id;		/* the same rows in another order: sum(f8) differs */

CREATE FUNCTION verdict(version text, gate_wanted text) RETURNS text LANGUAGE sql AS $$
	SELECT concat_ws(' ', result, difference) FROM backfill_validate(version) WHERE gate = gate_wanted
$$;
/* what the comparison finds for this version of the rows */
CREATE FUNCTION built(version text, rule text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r text;
BEGIN
	PERFORM backfill_create(version, 'tgt', rule, all_partitions => true);
	SELECT string_agg(state, ',') INTO r FROM backfill_build(version);
	RETURN r;
END $$;

SELECT is(built('same', 'SELECT * FROM src'), 'unchanged', 'equal rows in another order are the same');
SELECT lives_ok(format('SELECT backfill_add_gate(''same'', %1$L, total => %1$L)', total), 'a total: ' || total)
  FROM unnest(ARRAY['sum(n)', 'sum(b)', 'sum(c)', 'max(t)', 'count(DISTINCT j)', 'sum(f4)', 'array_agg(a ORDER BY id)', 'sum(b::int)', 'sum(1 / (id - 100))',
					'avg(n) FILTER (WHERE id < 10)', 'min(n) FILTER (WHERE id < 0)', 'sum(n) FILTER (WHERE id < 0)']) total;
SELECT is(verdict('same', total), wanted, total || ': ' || wanted) FROM (VALUES
	('sum(n)', 'passed'), ('sum(b)', 'passed 0 (0.00%)'), ('max(t)', 'passed'), ('count(DISTINCT j)', 'passed 0 (0.00%)'),
	('array_agg(a ORDER BY id)', 'passed'), ('sum(b::int)', 'failed error: integer out of range'), ('sum(1 / (id - 100))', 'failed error: division by zero'),
	('sum(c)', 'failed money out of range'), ('avg(n) FILTER (WHERE id < 10)', 'passed 0.00000000000000000000 (0.00%)'),
	('sum(n) FILTER (WHERE id < 0)', 'passed')) v(total, wanted)
 WHERE total NOT IN ('sum(n)', 'sum(c)');
SELECT alike(verdict('same', 'sum(n)'), 'passed%', 'NaN is equal to NaN');
SELECT alike(verdict('same', 'sum(c)'), 'failed%', 'an overflow is a red gate, not an error');
SELECT throws_ok($$ SELECT * FROM backfill_publish('same') $$, '23514', 'backfill failed quality gates', 'what cannot be measured cannot be published');

SELECT is(built(name, rule), wanted, name || ' is ' || wanted) FROM (VALUES
	('one value', 'SELECT id, f4, f8, CASE WHEN id = 1 THEN n + 1 ELSE n END AS n, b, c, j, t, a FROM src', 'staged'),
	('null became zero', 'SELECT id, f4, f8, coalesce(n, 0) AS n, b, c, j, t, a FROM src', 'staged'),
	('another scale', 'SELECT id, f4, f8, CASE WHEN id = 97 THEN 1.5 ELSE n END AS n, b, c, j, t, a FROM src', 'staged'),
	('another zero', 'SELECT id, f4, CASE WHEN id = 98 THEN 0 ELSE f8 END AS f8, n, b, c, j, t, a FROM src', 'staged'),
	('a long text', 'SELECT id, f4, f8, n, b, c, j, CASE WHEN id = 299 THEN left(t, -1) || ''x'' ELSE t END AS t, a FROM src', 'staged'),
	('an array', 'SELECT id, f4, f8, n, b, c, j, t, CASE WHEN id = 5 THEN ARRAY[5, 0] ELSE a END AS a FROM src', 'staged'),
	('text made anew', 'SELECT id, f4, f8, n, b, c, j, repeat(left(t, 32), id) AS t, a FROM src', 'unchanged'),
	('json made anew', 'SELECT id, f4, f8, n, b, c, j::text::jsonb AS j, t, a FROM src', 'unchanged')) v(name, rule, wanted);
SELECT is((SELECT concat_ws(' ', old, new, difference) FROM backfill.evidence WHERE version = 'one value' AND gate = 'lost keys'), '300 300 0 lost',
		  'a changed value loses no key');

/* keys: which were lost and gained, with samples */
SELECT is(built('shifted', 'SELECT id + 3 AS id, f4, f8, n, b, c, j, t, a FROM src WHERE id < 298'), 'staged', 'keys are shifted');
SELECT is((SELECT concat_ws(' ', result, difference, samples) FROM backfill.evidence WHERE version = 'shifted' AND gate = 'lost keys'),
		  'failed 3 lost [{"id": 1}, {"id": 2}, {"id": 3}]', 'lost keys are named');
SELECT throws_ok($$ SELECT * FROM backfill_publish('shifted') $$, '23514', NULL, '... and stop publish');

/* keys that repeat, and a key of several columns with NULL */
CREATE TABLE multi (a int, b text, v int) PARTITION BY LIST (a);
CREATE TABLE multi_1 PARTITION OF multi FOR VALUES IN (1, NULL);
INSERT INTO multi VALUES (1, 'x', 1), (1, 'y', 2), (NULL, 'x', 3);
SELECT backfill_create('twice', 'multi', 'SELECT a, b, v FROM multi UNION ALL SELECT 1, ''x'', 9', all_partitions => true, key => '{a,b}');
SELECT count(*) FROM backfill_build('twice') \g /dev/null
SELECT is((SELECT string_agg(concat_ws(' ', gate, result, new, samples), '; ' ORDER BY gate) FROM backfill.evidence WHERE version = 'twice' AND gate LIKE 'key %'),
		  'key not null failed 1 [{"a": null, "b": "x"}]; key unique failed 1 [{"a": 1, "b": "x"}]', 'repeated and NULL keys are counted and named');
SELECT throws_ok($$ SELECT * FROM backfill_publish('twice') $$, '23514', NULL, '... and stop publish');
SELECT throws_ok($$ SELECT backfill_waive('twice', 'key unique', 'please') $$, '22023', 'gate "key unique" cannot be waived', '... which nobody can waive');

/* no key at all, and types that have no equality */
CREATE TABLE odd (k int, j json, p point, b box) PARTITION BY RANGE (k);
CREATE TABLE odd_1 PARTITION OF odd FOR VALUES FROM (0) TO (10);
INSERT INTO odd VALUES (1, '{"a":1}', '(1,2)', '(1,1),(0,0)'), (1, '{"a":1}', '(1,2)', '(1,1),(0,0)'), (2, NULL, NULL, NULL);
SELECT backfill_create('odd ' || n, 'odd', rule, all_partitions => true, key => '{}') FROM (VALUES
	(1, 'SELECT k, j, p, b FROM odd ORDER BY k DESC'), (2, 'SELECT DISTINCT ON (k) k, j, p, b FROM odd'),
	(3, 'SELECT k, CASE WHEN k = 1 THEN ''{"a": 1}''::json END AS j, p, b FROM odd')) v(n, rule);
SELECT is((SELECT state FROM backfill_build('odd ' || n)), wanted, 'a multiset of values without equality: ' || wanted)
  FROM (VALUES (1, 'unchanged'), (2, 'staged'), (3, 'staged')) v(n, wanted);

/* keys that repeat in a table whose columns are named as ours might be */
CREATE TABLE names (bf_nth int, o int, n int, ctid_ int) PARTITION BY RANGE (bf_nth);
CREATE TABLE names_1 PARTITION OF names FOR VALUES FROM (0) TO (10);
INSERT INTO names VALUES (1, 1, 1, 1), (1, 2, 2, 2), (2, 1, 1, 1);
SELECT backfill_create('names', 'names', 'SELECT bf_nth, o, n, ctid_ FROM names WHERE o = 1', all_partitions => true, key => '{bf_nth}');
SELECT is((SELECT state FROM backfill_build('names')), 'staged', 'columns named like ours');
SELECT is((SELECT concat_ws(' ', old, new, difference) FROM backfill.evidence WHERE version = 'names' AND gate = 'lost keys'), '3 2 1 lost',
		  'of a key that repeats, one row is lost');

SELECT * FROM finish();
ROLLBACK;
