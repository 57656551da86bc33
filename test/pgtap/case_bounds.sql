-- Cases people met: which rows belong to a partition, whatever its key; and default partitions.
BEGIN;
SET client_min_messages = error;
SELECT no_plan();
CREATE EXTENSION backfill;

/* create, build and publish in one call; the name of the version is that of the target */
CREATE FUNCTION rebuild(target regclass, rule text, options text DEFAULT 'all_partitions => true') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	action text;
BEGIN
	EXECUTE format('SELECT backfill_create(%L, %L, %L, %s, replace => true)', target, target, rule, options);
	PERFORM backfill_build(target::text);
	SELECT concat_ws(' ', p.action, p.swapped, p.unchanged, p.created) INTO action FROM backfill_publish(target::text) p;
	RETURN action;
END $$;
CREATE FUNCTION tree(root regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT concat_ws(' ', level, relid, pg_get_expr(relpartbound, oid), pg_get_partkeydef(oid), relnamespace::regnamespace)
	  FROM pg_partition_tree(root) JOIN pg_class ON oid = relid
$$;
CREATE FUNCTION rows_of(root regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN
	RETURN QUERY EXECUTE format('SELECT concat_ws('' '', tableoid::regclass, count(*)) FROM %s GROUP BY tableoid', root);
END $$;
CREATE FUNCTION helpers(root regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_constraint, pg_partition_tree(root) t WHERE conrelid = t.relid AND conname LIKE 'backfill%'
$$;

--
-- LIST with a partition for NULL
--
CREATE TABLE cust (id int, region text, v int) PARTITION BY LIST (region);
CREATE TABLE cust_eu PARTITION OF cust FOR VALUES IN ('de', 'fr');
CREATE TABLE cust_none PARTITION OF cust FOR VALUES IN (NULL, '');
INSERT INTO cust SELECT i, (ARRAY['de', 'fr', NULL, ''])[1 + i % 4], i FROM generate_series(1, 400) i;
SELECT is(rebuild('cust', 'SELECT id, region, v + 1 AS v FROM cust', 'all_partitions => true, key => ''{id}'''), 'published 2 0 0', 'NULL in a LIST: published');
SELECT set_eq($$ SELECT rows_of('cust') $$, ARRAY['cust_eu 200', 'cust_none 200'], 'every row is in its partition');
SELECT is((SELECT count(*) FROM cust_none WHERE region IS NULL), 100::bigint, '... those with NULL, too');
SELECT is(helpers('cust'), 0::bigint, 'no helper CHECK is left');
SELECT lives_ok('INSERT INTO cust VALUES (901, NULL, 9)', 'NULL is still accepted');

--
-- RANGE over two columns with MINVALUE and MAXVALUE
--
CREATE TABLE ledger (yr int, mon int, amt int, PRIMARY KEY (yr, mon)) PARTITION BY RANGE (yr, mon);
CREATE TABLE ledger_a PARTITION OF ledger FOR VALUES FROM (MINVALUE, MINVALUE) TO (2024, 11);
CREATE TABLE ledger_b PARTITION OF ledger FOR VALUES FROM (2024, 11) TO (2025, 3);
CREATE TABLE ledger_c PARTITION OF ledger FOR VALUES FROM (2025, 3) TO (2025, MAXVALUE);
CREATE TABLE ledger_d PARTITION OF ledger FOR VALUES FROM (2026, MINVALUE) TO (MAXVALUE, MAXVALUE);
INSERT INTO ledger SELECT y, m, y * 100 + m FROM generate_series(2023, 2027) y, generate_series(1, 12) m;
CREATE TEMP TABLE shape AS SELECT tree('ledger') AS t;
SELECT throws_ok($$ SELECT rebuild('ledger', 'SELECT yr, mon, amt FROM ledger WHERE yr >= partition_from') $$, '0A000', NULL,
				 'two columns: a rule cannot name the bounds');
SELECT is(rebuild('ledger', 'SELECT yr, mon, -amt AS amt FROM ledger'), 'published 4 0 0', 'two columns: published');
SELECT set_eq($$ SELECT rows_of('ledger') $$, ARRAY['ledger_a 22', 'ledger_b 4', 'ledger_c 10', 'ledger_d 24'], 'bounds compare as rows');
SELECT bag_eq($$ SELECT tree('ledger') $$, 'TABLE shape', 'bounds are printed as before');
SELECT backfill_create('ledger part', 'ledger', 'SELECT yr, mon, amt + 1 AS amt FROM ledger', range_from => ROW(2024, 11), range_to => ROW(2025, 3));
SELECT is((SELECT string_agg(partition, ',') FROM backfill.partition WHERE version = 'ledger part'), 'ledger_b', 'a range of two columns');
SELECT throws_ok($$ SELECT backfill_create('ledger cut', 'ledger', 'SELECT yr, mon, amt FROM ledger', range_from => ROW(2024, 12), range_to => ROW(2025, 3)) $$,
				 '22023', 'range cuts partition public.ledger_b in two', '... that cuts a partition is refused');
DROP TABLE shape;

--
-- Expressions as key, rows without any key, duplicates
--
CREATE FUNCTION fiscal_year(d date) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT extract(year FROM d + 184)::int';
CREATE TABLE pay (id int, d date, who text, amt int) PARTITION BY RANGE (fiscal_year(d), lower(who));
CREATE TABLE pay_26 PARTITION OF pay FOR VALUES FROM (2026, MINVALUE) TO (2026, MAXVALUE);
CREATE TABLE pay_27 PARTITION OF pay FOR VALUES FROM (2027, MINVALUE) TO (2027, MAXVALUE);
INSERT INTO pay SELECT i, date '2025-07-01' + i, CASE WHEN i % 2 = 0 THEN 'Bob' ELSE 'eve' END, i FROM generate_series(1, 500) i;
INSERT INTO pay SELECT * FROM pay WHERE id <= 5;
CREATE TABLE pay_src AS SELECT id, d, who, CASE WHEN id = 7 THEN 0 ELSE amt END AS amt FROM pay;
SELECT throws_ok($$ SELECT rebuild('pay', 'SELECT id, d, who, amt FROM pay_src') $$, '42704', 'public.pay has no primary key to identify its rows',
				 'expression key: without a key, create asks for one');
SELECT is(rebuild('pay', 'SELECT id, d, who, amt FROM pay_src', 'partitions => ''{pay_26}'', key => ''{}'''), 'published 1 0 0', 'expression key: published');
SELECT bag_eq('TABLE pay', 'TABLE pay_src', 'all rows are there, duplicates as often as before');
SELECT set_eq($$ SELECT result FROM backfill.evidence WHERE version = 'pay' AND gate IN ('key unique', 'lost keys') $$, ARRAY['n/a'], 'gates about keys say n/a');

--
-- Levels: RANGE over LIST over HASH
--
CREATE TABLE sales (id int, day date, region text, amt int, PRIMARY KEY (id, day, region)) PARTITION BY RANGE (day);
CREATE TABLE sales_1 PARTITION OF sales FOR VALUES FROM ('2026-01-01') TO ('2026-02-01') PARTITION BY LIST (region);
CREATE TABLE sales_1_eu PARTITION OF sales_1 FOR VALUES IN ('de', 'fr');
CREATE TABLE sales_1_us PARTITION OF sales_1 FOR VALUES IN ('us') PARTITION BY HASH (id);
CREATE TABLE sales_1_us_0 PARTITION OF sales_1_us FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE sales_1_us_1 PARTITION OF sales_1_us FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE sales_1_rest PARTITION OF sales_1 DEFAULT;
INSERT INTO sales SELECT i, date '2026-01-01' + i % 31, (ARRAY['de', 'us', 'fr', 'br'])[1 + i % 4], i FROM generate_series(1, 400) i;
CREATE TEMP TABLE shape AS SELECT tree('sales') AS t;
CREATE TEMP TABLE counts AS SELECT rows_of('sales') AS c;
SELECT is(rebuild('sales', 'SELECT id, day, region, amt + 1 AS amt FROM sales WHERE day >= partition_from AND day < partition_to',
				  'partitions => ''{sales_1}'''), 'published 4 0 0', 'levels: a whole subtree is published');
SELECT bag_eq($$ SELECT tree('sales') $$, 'TABLE shape', 'the tree is as it was');
SELECT bag_eq($$ SELECT rows_of('sales') $$, 'TABLE counts', 'every row is in its leaf');
SELECT is((SELECT count(*) FROM sales WHERE amt = id + 1), 400::bigint, '... with the new value');
SELECT backfill_create('one leaf', 'sales', 'SELECT id, day, region, id AS amt FROM sales', partitions => '{sales_1_us_1}');
SELECT count(*) FROM backfill_build('one leaf') \g /dev/null
SELECT is((SELECT swapped FROM backfill_publish('one leaf')), 1, 'levels: a single leaf is published');
SELECT is((SELECT count(*) FROM sales WHERE amt = id), (SELECT count(*) FROM sales_1_us_1), '... and nothing else has changed');
SELECT bag_eq($$ SELECT rows_of('sales') $$, 'TABLE counts', 'every row is in its leaf again');
SELECT is((SELECT action FROM backfill_rollback('one leaf')), 'rolled_back', 'levels: rolled back');
SELECT bag_eq($$ SELECT tree('sales') $$, 'TABLE shape', 'the tree is as it was');
SELECT is((SELECT count(*) FROM sales WHERE amt = id + 1), 400::bigint, '... with the value of before');
DROP TABLE shape, counts;

--
-- Days of 23 and 25 hours
--
SET TimeZone = 'Europe/Berlin';
CREATE TABLE load (id int, ts timestamptz, kw int, PRIMARY KEY (id, ts)) PARTITION BY RANGE (ts);
CREATE TABLE load_0329 PARTITION OF load FOR VALUES FROM ('2026-03-29') TO ('2026-03-30');
CREATE TABLE load_1025 PARTITION OF load FOR VALUES FROM ('2026-10-25') TO ('2026-10-26');
CREATE TABLE load_1026 PARTITION OF load FOR VALUES FROM ('2026-10-26') TO ('2026-10-27');
INSERT INTO load SELECT i, timestamptz '2026-03-29' + i * interval '15 min', 1 FROM generate_series(0, 91) i;
INSERT INTO load SELECT 1000 + i, timestamptz '2026-10-25' + i * interval '15 min', 1 FROM generate_series(0, 195) i;
CREATE TEMP TABLE counts AS SELECT rows_of('load') AS c;
SET DateStyle = 'SQL, DMY';
SELECT backfill_create('dst', 'load', 'SELECT id, ts, kw + 1 AS kw FROM load WHERE ts >= partition_from AND ts < partition_to',
	range_from => '25/10/2026', range_to => '27/10/2026');
SET TimeZone = 'UTC';
SET DateStyle = 'German, MDY';
SELECT is((SELECT sum(rows) FROM backfill_build('dst')), 196::numeric, 'clock changes: all rows of both days');
SELECT is((SELECT swapped FROM backfill_publish('dst')), 2, 'clock changes: published in another time zone and date style');
SELECT bag_eq($$ SELECT rows_of('load') $$, 'TABLE counts', '100 rows in the long day');
SET TimeZone = 'Asia/Tokyo';
SELECT is((SELECT action FROM backfill_rollback('dst')), 'rolled_back', '... and rolled back in a third one');
SELECT is((SELECT count(*) FROM load WHERE kw = 1), 288::bigint, 'the rows of before');
SET DateStyle = 'ISO';
SET TimeZone = 'Europe/Berlin';
SELECT backfill_create('dst new', 'load', 'SELECT 1 AS id, partition_from AS ts, extract(epoch FROM partition_to - partition_from)::int / 3600 AS kw',
	range_from => '2027-03-27', range_to => '2027-03-30', gaps => 'create', step => '1 day', partition_name => '"load_"MMDD"_"YYYY');
SET TimeZone = 'UTC';
SELECT count(*) FROM backfill_build('dst new') \g /dev/null
SELECT is((SELECT created FROM backfill_publish('dst new')), 3, 'clock changes: partitions are created by local days');
SELECT results_eq($$ SELECT tableoid::regclass::text, kw FROM load WHERE ts > '2027-01-01' ORDER BY ts $$,
				  $$ VALUES ('load_0327_2027', 24), ('load_0328_2027', 23), ('load_0329_2027', 24) $$, '... the short one has 23 hours');
SELECT is((SELECT created FROM backfill_rollback('dst new')), 3, 'created partitions are taken away again');
SELECT is((SELECT count(*) FROM pg_inherits WHERE inhparent = 'load'::regclass), 3::bigint, '... all three');
SELECT is((SELECT created FROM backfill_publish('dst new', again => true)), 3, '... and put back');
RESET TimeZone;
RESET DateStyle;

--
-- Default partitions: rows in the way, and the scan that is not needed
--
CREATE TABLE evt (id int, ts date, v int, PRIMARY KEY (id, ts)) PARTITION BY RANGE (ts);
CREATE TABLE evt_default PARTITION OF evt DEFAULT;
CREATE TABLE evt_1 PARTITION OF evt FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
INSERT INTO evt SELECT i, date '2026-01-01' + i % 59, i FROM generate_series(1, 590) i;
CREATE TABLE evt_src AS SELECT * FROM evt;
SELECT throws_ok($$ SELECT rebuild('evt', 'TABLE evt_src', 'range_from => ''2026-02-01'', range_to => ''2026-03-01'', gaps => ''create'', step => ''1 month''') $$,
				 '23514', 'default partition public.evt_default has 280 rows of the new partition "evt_2026_02_01"',
				 'default: rows of a partition to be created are counted');
SELECT bag_eq('TABLE evt', 'TABLE evt_src', '... and nothing has changed');
SELECT is(rebuild('evt', 'SELECT id, ts, v + 1 AS v FROM evt_src', 'range_from => ''2026-01-01'', range_to => ''2026-02-01'''), 'published 1 0 0',
		  'default: a partition beside it is published');
SELECT is(helpers('evt'), 0::bigint, 'no helper CHECK is left');
SELECT backfill_create('evt default', 'evt', 'SELECT id, ts, v + 2 AS v FROM evt_src', partitions => '{evt_default}');
SELECT is((SELECT rows FROM backfill_build('evt default')), 280::bigint, 'default: it is filled with what no other partition takes');
SELECT is((SELECT swapped FROM backfill_publish('evt default')), 1, '... and published itself');
SELECT bag_eq('TABLE evt', $$ SELECT id, ts, CASE WHEN ts < '2026-02-01' THEN v + 1 ELSE v + 2 END FROM evt_src $$, 'all rows are there');
SELECT lives_ok($$ INSERT INTO evt VALUES (1, '2030-01-01', 1) $$, '... and others may come');

--
-- Partitions of one row, of none, and many of them
--
CREATE TABLE many (k int PRIMARY KEY, v int) PARTITION BY RANGE (k);
DO $$ BEGIN FOR i IN 0..149 LOOP
	EXECUTE format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', i, i * 10, i * 10 + 10);
END LOOP; END $$;
INSERT INTO many SELECT i * 10, i FROM generate_series(0, 149) i WHERE i % 3 > 0;
INSERT INTO many SELECT i * 10 + 1, i FROM generate_series(0, 149) i WHERE i % 3 > 1;
SELECT is(rebuild('many', 'SELECT k, v + 1 AS v FROM many'), 'published 100 50 0', '150 partitions: those with rows are swapped, the empty ones are the same');
SELECT is((SELECT sum(v) FROM many), (SELECT sum(i + 1) FROM generate_series(0, 149) i WHERE i % 3 > 0) + (SELECT sum(i + 1) FROM generate_series(0, 149) i WHERE i % 3 > 1),
		  'all rows have the new value');
SELECT is((SELECT swapped FROM backfill_rollback('many')), 100, '... and are withdrawn');

--
-- The source yields nothing, or next to nothing, for a filled partition; an empty one stays empty
--
CREATE TABLE thin (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
CREATE TABLE thin_1 PARTITION OF thin FOR VALUES FROM (0) TO (100);
CREATE TABLE thin_2 PARTITION OF thin FOR VALUES FROM (100) TO (200);
CREATE TABLE thin_3 PARTITION OF thin FOR VALUES FROM (200) TO (300);
INSERT INTO thin SELECT i, i FROM generate_series(0, 199) i;
CREATE TABLE thin_src AS SELECT id, v + 1 AS v FROM thin WHERE id >= 190;
SELECT throws_ok($$ SELECT rebuild('thin', 'TABLE thin_src', 'all_partitions => true, max_lost_keys => NULL') $$, '23514',
				 'backfill failed quality gates', 'shrunk: publish refuses');
SELECT backfill_create('thin', 'thin', 'TABLE thin_src', all_partitions => true, max_lost_keys => NULL);
SELECT count(*) FROM backfill_build('thin') \g /dev/null
SELECT is((SELECT string_agg(concat_ws(' ', partition, result, old, new), ', ' ORDER BY partition) FROM backfill.evidence
		   WHERE version = 'thin' AND gate = 'row count'), 'thin_1 failed 100 0, thin_2 failed 100 10, thin_3 passed 0 0', 'the row count says why');
SELECT backfill_waive('thin', 'row count', 'source was cleaned on purpose');
SELECT is((SELECT concat_ws(' ', action, swapped, unchanged) FROM backfill_publish('thin')), 'published 2 1', '... until it is waived, by name and with a reason');
SELECT is((SELECT count(*) FROM thin), 10::bigint, 'the ten rows are there');

SELECT * FROM finish();
ROLLBACK;
