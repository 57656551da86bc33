-- backfill_validate: all gates, and the evidence recorded.
CHECKPOINT;
SELECT bench.lap('start');
SELECT count(*) FROM backfill_validate('bench');
SELECT bench.lap('compare');
