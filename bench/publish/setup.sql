-- A target of :n partitions with the first :k of them staged, and a twin of it for the swaps by hand: as many tables of the same
-- names and shape wait in a schema beside it, with the CHECK that lets ATTACH skip its scan.
\set ON_ERROR_STOP on
\set waiting :part _new
\set replaced :part _old
SET client_min_messages = warning;
CREATE SCHEMA :"part";
CREATE SCHEMA :"waiting";
CREATE SCHEMA :"replaced";
SET search_path = :"part", public;

CREATE TABLE source AS
SELECT date '2001-01-01' + p - 1 AS day, i AS id, (p * i % 97 + 1)::numeric AS amount
  FROM generate_series(1, :n) p, generate_series(1, 100) i;
CREATE TABLE target (day date, id int, amount numeric, tax numeric, PRIMARY KEY (day, id)) PARTITION BY RANGE (day);
CREATE INDEX ON target (id, day);
CREATE TABLE twin (LIKE target INCLUDING ALL) PARTITION BY RANGE (day);

CREATE VIEW part AS SELECT p, date '2001-01-01' + p - 1 AS day, date '2001-01-01' + p AS next FROM generate_series(1, :n) p;
SELECT format('CREATE TABLE target_%s PARTITION OF target FOR VALUES FROM (%L) TO (%L)', p, day, next),
	   format('CREATE TABLE twin_%s PARTITION OF twin FOR VALUES FROM (%L) TO (%L)', p, day, next),
	   format('CREATE TABLE %I.twin_%s (LIKE twin INCLUDING ALL)', :'waiting', p)
  FROM part \gexec
INSERT INTO target SELECT day, id, amount, round(amount * 0.07, 2) FROM source;
INSERT INTO twin TABLE target;
SELECT format('INSERT INTO %I.twin_%s SELECT * FROM twin_%2$s', :'waiting', p) FROM part \gexec
SELECT format('ALTER TABLE %I.twin_%s ADD CONSTRAINT bound CHECK (day IS NOT NULL AND day >= %L AND day < %L)', s, p, day, next)
  FROM part, unnest(ARRAY[:'part', :'waiting']) s \gexec
VACUUM (FREEZE, ANALYZE);

CREATE VIEW swapped AS SELECT * FROM part WHERE p <= :k;
SELECT backfill_create(:'part', target => 'target', range_from => date '2001-01-01', range_to => date '2001-01-01' + :k,
	rule => format('SELECT day, id, amount, round(amount * 0.08, 2) AS tax FROM %I.source', :'part'));
SELECT count(*) FROM backfill_build(:'part');

-- The statements of a swap by hand, in the order of the steps, or partition by partition: $1 is the list of steps.
CREATE FUNCTION swap(steps text[], pairwise boolean) RETURNS SETOF text
LANGUAGE sql
AS $$
	SELECT format(s.statement, current_schema, p, day, next)
	  FROM swapped,
		   unnest(steps) WITH ORDINALITY w(step, n)
	  JOIN (VALUES ('detach', 'ALTER TABLE twin DETACH PARTITION twin_%2$s'),
				   ('attach', 'ALTER TABLE twin ATTACH PARTITION %1$s_new.twin_%2$s FOR VALUES FROM (%3$L) TO (%4$L)'),
				   ('detach new', 'ALTER TABLE twin DETACH PARTITION %1$s_new.twin_%2$s'),
				   ('attach old', 'ALTER TABLE twin ATTACH PARTITION twin_%2$s FOR VALUES FROM (%3$L) TO (%4$L)'),
				   -- A schema's name instead of new names: the indexes come along.
				   ('old away', 'ALTER TABLE twin_%2$s SET SCHEMA %1$s_old'),
				   ('new here', 'ALTER TABLE %1$s_new.twin_%2$s SET SCHEMA %1$s'),
				   ('new away', 'ALTER TABLE twin_%2$s SET SCHEMA %1$s_new'),
				   ('old here', 'ALTER TABLE %1$s_old.twin_%2$s SET SCHEMA %1$s'),
				   ('drop check', 'ALTER TABLE twin_%2$s DROP CONSTRAINT bound'),
				   ('add check', 'ALTER TABLE twin_%2$s ADD CONSTRAINT bound CHECK (day IS NOT NULL AND day >= %3$L AND day < %4$L)')
		   ) s(step, statement) USING (step)
	 ORDER BY CASE WHEN pairwise THEN p END, n, p
$$;
