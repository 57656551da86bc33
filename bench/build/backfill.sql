-- backfill_build, which also measures every gate against the live partition.
\ir :part.sql
SELECT backfill_create('bench', target => :'target', rule => :'rule', range_from => '2001-01-01', range_to => '2001-02-01');
CHECKPOINT;
SELECT bench.lap('start');
BEGIN;
SELECT count(*) FROM backfill_build('bench');
SELECT bench.lap('build and gates');
COMMIT;
SELECT bench.lap('commit');
-- What loading, indexes and ANALYZE took of it; the rest is locks, the definition's checks and the gates.
INSERT INTO bench.lap (part, round, arm, phase, seconds, wal, at)
SELECT part, round, arm, 'build', extract(epoch FROM (SELECT sum(elapsed) FROM backfill.partition WHERE version = 'bench')), 0, '-infinity'
  FROM bench.lap WHERE at = (SELECT max(at) FROM bench.lap);
SELECT backfill_drop('bench');
