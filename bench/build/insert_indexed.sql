-- (a) INSERT ... SELECT into a table that has its indexes.
\ir :part.sql
CREATE TABLE bench.result :columns;
ALTER TABLE bench.result ADD PRIMARY KEY :key;
CREATE INDEX ON bench.result :other;
CHECKPOINT;
SELECT bench.lap('start');
INSERT INTO bench.result :query;
SELECT bench.lap('fill');
ANALYZE bench.result;
SELECT bench.lap('analyze');
VACUUM (FREEZE) bench.result;
SELECT bench.lap('vacuum');
DROP TABLE bench.result;
