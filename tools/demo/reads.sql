-- Was every read one complete version?  Reads the reader's log from psql's standard input (psql -f reads.sql < log);
-- needs demo.complete, which data.sql filled by plain SQL.  Ends with an error if not.

\pset footer off
\pset linestyle unicode
\pset border 2

CREATE TABLE demo.read (at timestamptz, rows bigint, total numeric);
\copy demo.read FROM pstdin (DELIMITER '|')

\echo '== What the reader saw, from first to last'
\echo
SELECT to_char(min(at), 'HH24:MI:SS.MS') AS from, to_char(max(at), 'HH24:MI:SS.MS') AS to,
       count(*) AS reads, rows, total, coalesce(version, 'NO COMPLETE VERSION') AS this_is
  FROM (SELECT r.*, c.version,
               row_number() OVER (ORDER BY at) - row_number() OVER (PARTITION BY r.rows, r.total ORDER BY at) AS stretch
          FROM demo.read r
          LEFT JOIN demo.complete c ON (r.rows, r.total) = (c.rows, c.total)) s
 GROUP BY stretch, rows, total, version
 ORDER BY min(at);

-- The totals the extension recorded as evidence must be those that plain SQL gave.
SELECT count(*) AS reads,
       count(*) FILTER (WHERE (rows, total) IN (SELECT rows, total FROM demo.complete)) AS complete,
       count(DISTINCT total) AS totals,
       coalesce((SELECT array_agg(total ORDER BY version <> 'original') FROM demo.complete)
                = (SELECT ARRAY[sum(old::numeric), sum(new::numeric)]
                     FROM (SELECT DISTINCT ON (partition) partition, old, new
                             FROM backfill.evidence JOIN demo.complete USING (version)
                            WHERE gate LIKE '% total' ORDER BY partition, measured_at) e), false) AS evidence_agrees,
       (SELECT refused_with FROM demo.refusal) IS NOT DISTINCT FROM '23514' AS broken_refused,
       coalesce((SELECT state FROM backfill.status JOIN demo.complete USING (version)) = 'published', false) AS good_live
  FROM demo.read \gset

SELECT count(*) AS meanwhile,
       coalesce(bool_and(total = (SELECT total FROM demo.complete WHERE version = 'original')), false) AS meanwhile_old
  FROM demo.read, demo.refusal
 WHERE at BETWEEN broken_from AND refused_at \gset

\echo :reads 'reads were made;' :complete 'of them saw one complete version, old or new.'
\echo :meanwhile 'of them fell in the time in which the broken version was built and refused.'

SELECT :reads > 0 AND :reads = :complete AND :totals = 2 AS promise_kept \gset
\set failed no
\if :promise_kept
\else
\set failed yes
\echo 'FAILED: a read was neither of the two complete versions, or the reader saw only one of them.'
\endif
\if :meanwhile_old
\echo 'Those all saw the old version.'
\else
\set failed yes
\echo 'FAILED: the broken version was seen, or nothing was read while it was built.'
\endif
\if :evidence_agrees
\else
\set failed yes
\echo 'FAILED: the totals in the evidence are not those of the two versions.'
\endif
\if :broken_refused
\else
\set failed yes
\echo 'FAILED: the broken version was not refused by its gates.'
\endif
\if :good_live
\else
\set failed yes
\echo 'FAILED: the good version is not live at the end.'
\endif
\if :failed
DO $$ BEGIN RAISE EXCEPTION 'the demo failed'; END $$;
\endif
