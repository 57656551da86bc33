-- (d) COPY out of one session into COPY ... FREEZE of another, then indexes; it owes no VACUUM.
\ir :part.sql
\setenv QUERY :query
CHECKPOINT;
SELECT bench.lap('start');
BEGIN;
CREATE TABLE bench.result :columns;
\copy bench.result FROM PROGRAM 'psql -Xqc "COPY ($QUERY) TO STDOUT"' WITH (FREEZE)
COMMIT;
SELECT bench.lap('fill');
\ir index.sql
DROP TABLE bench.result;
