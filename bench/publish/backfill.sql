-- backfill_publish, then (not timed) back to where it was.
\set ON_ERROR_STOP on
\ir start.sql
BEGIN;
SELECT extract(epoch FROM held) AS held FROM backfill_publish(:'part', again => true) \gset
SELECT bench.lap('publish');
COMMIT;
SELECT bench.lap('commit');
INSERT INTO bench.lap (part, round, arm, phase, seconds, wal, at)
SELECT part, round, arm, 'held', :held, 0, '-infinity' FROM bench.lap WHERE at = (SELECT max(at) FROM bench.lap);
SELECT action FROM backfill_rollback(:'part');
