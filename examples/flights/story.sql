-- A backfill from definition to publication and back; needs data.sql.  Run it with: psql < story.sql
-- (with a redirection psql shows errors without file and line).

\set QUIET on
\pset footer off
\pset linestyle unicode
\pset border 2

-- The table as it was, for the comparison later.
CREATE TABLE demo.before AS
SELECT to_char(flown_on, 'YYYY-MM') AS month, sum(departures) AS departures, sum(late) AS late FROM mart.departure_daily GROUP BY 1;

\set ECHO queries

\echo
\echo '== 1. From now on a flight is late from 10 minutes, not 15. Define what history would have been.'
\echo

\o /dev/null
SELECT backfill_create('late-from-10',
         target        => 'mart.departure_daily',
         rule          => $$ SELECT departed::date AS flown_on, origin, count(*) AS departures,
                                    count(*) FILTER (WHERE delay >= (parameters->>'minutes')::int) AS late,
                                    max(delay) AS worst_delay
                               FROM raw.flight
                              WHERE departed >= partition_from AND departed < partition_to
                              GROUP BY 1, 2 $$,
         range_from    => '2001-01-01',
         range_to      => '2001-08-01',
         parameters    => '{"minutes": 10}',
         code_revision => 'a1b2c3d',
         late_changes  => 'ignore');
SELECT backfill_add_gate('late-from-10', 'late total', total => 'sum(late)', expect => 'new >= old AND new < 2 * old');
\o

\echo
\echo '== 2. What would it cost, and is anything in the way?'
\echo
SELECT * FROM backfill_plan('late-from-10');

\echo '== 3. Build it beside the live table; readers go on as before.'
\echo
SELECT partition, state, rows, rejected, size FROM backfill_build('late-from-10');

\echo '== 4. The evidence: staged against live, gate by gate.'
\echo
SELECT gate, result, old, new, difference, expect FROM backfill_validate('late-from-10');

\echo '== 5. Another rule asks a table of airports, in which eight large ones have no entry for March.'
\echo '==    It builds, but it is not published.'
\echo
\set ECHO none
SELECT clock_timestamp() AS broken_from \gset
\set ECHO queries
\o /dev/null
SELECT backfill_create('late-from-10-broken',
         target       => 'mart.departure_daily',
         rule         => $$ SELECT departed::date AS flown_on, origin, count(*) AS departures,
                                   count(*) FILTER (WHERE delay >= 10) AS late, max(delay) AS worst_delay
                              FROM raw.flight JOIN raw.airport ON code = origin
                             WHERE departed >= valid_from AND departed < valid_to
                               AND departed >= partition_from AND departed < partition_to
                             GROUP BY 1, 2 $$,
         range_from   => '2001-01-01',
         range_to     => '2001-08-01',
         late_changes => 'ignore');
SELECT backfill_add_gate('late-from-10-broken', 'late total', total => 'sum(late)', expect => 'new >= old AND new < 2 * old');
\o
SELECT partition, state, rows, rejected, size FROM backfill_build('late-from-10-broken');
\echo
SELECT * FROM backfill_publish('late-from-10-broken');
\set refused_with :SQLSTATE
\echo
\echo 'Refused with SQLSTATE' :refused_with
\echo
SELECT gate, partition, result, old, new, difference, expect FROM backfill.evidence
 WHERE version = 'late-from-10-broken' AND result = 'failed' ORDER BY gate, partition;

-- For the driver, which looks later at what was read meanwhile.
\set ECHO none
CREATE TABLE demo.refusal AS
SELECT :'refused_with' AS refused_with, timestamptz :'broken_from' AS broken_from, clock_timestamp() AS refused_at;
\set ECHO queries

\echo '== 6. Publish the good one: one transaction.'
\echo
SELECT * FROM backfill_publish('late-from-10');

\echo '== 7. Old against new, month by month.'
\echo
\set ECHO none
SELECT month, old.departures, old.late AS old_late, new.late AS new_late, new.late - old.late AS difference,
       round(100 * (new.late - old.late) / nullif(old.late, 0), 2) || ' %' AS change
  FROM demo.before old
  JOIN (SELECT to_char(flown_on, 'YYYY-MM') AS month, sum(late) AS late FROM mart.departure_daily GROUP BY 1) new USING (month)
 ORDER BY month;

-- Time for the reader to see it.
SELECT pg_sleep(1) \g /dev/null
\set ECHO queries
\echo '== 8. Withdraw it: the old tables come back, nothing is rebuilt.'
\echo
SELECT * FROM backfill_rollback('late-from-10');

-- Time for the reader to see it.
\set ECHO none
SELECT pg_sleep(1) \g /dev/null
\set ECHO queries
\echo '== 9. And forward again. Saying so is required, so that a script run twice never republishes what was withdrawn.'
\echo
SELECT * FROM backfill_publish('late-from-10', again => true);

\echo '== 10. All of it is on record.'
\echo
SELECT to_char(at, 'HH24:MI:SS.MS') AS at, action, version, replaces, swapped, attempts, waited FROM backfill.history ORDER BY at;
