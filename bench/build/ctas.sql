-- (c) CREATE TABLE AS, then indexes.
\ir :part.sql
CHECKPOINT;
SELECT bench.lap('start');
CREATE TABLE bench.result AS :query;
SELECT bench.lap('fill');
\ir index.sql
VACUUM (FREEZE) bench.result;
SELECT bench.lap('vacuum');
DROP TABLE bench.result;
