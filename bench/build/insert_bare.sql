-- (b) INSERT ... SELECT into a bare table, then indexes.
\ir :part.sql
CREATE TABLE bench.result :columns;
CHECKPOINT;
SELECT bench.lap('start');
INSERT INTO bench.result :query;
SELECT bench.lap('fill');
\ir index.sql
VACUUM (FREEZE) bench.result;
SELECT bench.lap('vacuum');
DROP TABLE bench.result;
