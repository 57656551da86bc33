-- A backfill from definition to publication and back; needs data.sql.  Run it with: psql < story.sql
-- (with a redirection psql shows errors without file and line).

\set QUIET on
\pset footer off
\pset linestyle unicode
\pset border 2

-- The table as it was, for the comparison later.
CREATE TABLE demo.before AS
SELECT to_char(sold_on, 'YYYY-MM') AS month, sum(receipts) AS receipts, sum(tax) AS tax FROM mart.receipt_daily GROUP BY 1;

\set ECHO queries

\echo
\echo '== 1. The tax rate was wrong for six months. Define what history should have been.'
\echo

\o /dev/null
SELECT backfill_create('receipt-rule-v47',
         target        => 'mart.receipt_daily',
         rule          => $$ SELECT sold_on, store_id, count(*) AS receipts, sum(amount) AS amount,
                                    sum(round(amount * (parameters->>'rate')::numeric, 2)) AS tax
                               FROM raw.receipt
                              WHERE sold_on >= partition_from AND sold_on < partition_to
                              GROUP BY sold_on, store_id $$,
         range_from    => '2026-04-01',
         range_to      => '2026-10-01',
         parameters    => '{"rate": "0.0825"}',
         code_revision => 'a1b2c3d',
         late_changes  => 'ignore');
SELECT backfill_add_gate('receipt-rule-v47', 'tax total', total => 'sum(tax)', expect => 'between 2% and 4%');
\o

\echo
\echo '== 2. What would it cost, and is anything in the way?'
\echo
SELECT * FROM backfill_plan('receipt-rule-v47');

\echo '== 3. Build it beside the live table; readers go on as before.'
\echo
SELECT partition, state, rows, rejected, size FROM backfill_build('receipt-rule-v47');

\echo '== 4. The evidence: staged against live, gate by gate.'
\echo
SELECT gate, result, old, new, difference, expect FROM backfill_validate('receipt-rule-v47');

\echo '== 5. Another rule reads the rates from a table, in which ten stores have none for August.'
\echo '==    It builds, but it is not published.'
\echo
\set ECHO none
SELECT clock_timestamp() AS broken_from \gset
\set ECHO queries
\o /dev/null
SELECT backfill_create('receipt-rule-v48-broken',
         target       => 'mart.receipt_daily',
         rule         => $$ SELECT sold_on, store_id, count(*) AS receipts, sum(amount) AS amount,
                                   sum(round(amount * rate, 2)) AS tax
                              FROM raw.receipt JOIN raw.tax_rate USING (store_id)
                             WHERE sold_on >= valid_from AND sold_on < valid_to
                               AND sold_on >= partition_from AND sold_on < partition_to
                             GROUP BY sold_on, store_id $$,
         range_from   => '2026-04-01',
         range_to     => '2026-10-01',
         late_changes => 'ignore');
SELECT backfill_add_gate('receipt-rule-v48-broken', 'tax total', total => 'sum(tax)', expect => 'between 2% and 4%');
\o
SELECT partition, state, rows, rejected, size FROM backfill_build('receipt-rule-v48-broken');
\echo
SELECT * FROM backfill_publish('receipt-rule-v48-broken');
\set refused_with :SQLSTATE
\echo
\echo 'Refused with SQLSTATE' :refused_with
\echo
SELECT gate, partition, result, old, new, difference, expect FROM backfill.evidence
 WHERE version = 'receipt-rule-v48-broken' AND result = 'failed' ORDER BY gate, partition;

-- For the driver, which looks later at what was read meanwhile.
\set ECHO none
CREATE TABLE demo.refusal AS
SELECT :'refused_with' AS refused_with, timestamptz :'broken_from' AS broken_from, clock_timestamp() AS refused_at;
\set ECHO queries

\echo '== 6. Publish the good one: one transaction.'
\echo
SELECT * FROM backfill_publish('receipt-rule-v47');

\echo '== 7. Old against new, month by month.'
\echo
\set ECHO none
SELECT month, old.receipts, old.tax AS old_tax, new.tax AS new_tax, new.tax - old.tax AS difference,
       round(100 * (new.tax - old.tax) / old.tax, 2) || ' %' AS change
  FROM demo.before old
  JOIN (SELECT to_char(sold_on, 'YYYY-MM') AS month, sum(tax) AS tax FROM mart.receipt_daily GROUP BY 1) new USING (month)
 ORDER BY month;

-- Time for the reader to see it.
SELECT pg_sleep(1) \g /dev/null
\set ECHO queries
\echo '== 8. Withdraw it: the old tables come back, nothing is rebuilt.'
\echo
SELECT * FROM backfill_rollback('receipt-rule-v47');

-- Time for the reader to see it.
\set ECHO none
SELECT pg_sleep(1) \g /dev/null
\set ECHO queries
\echo '== 9. And forward again. Saying so is required, so that a script run twice never republishes what was withdrawn.'
\echo
SELECT * FROM backfill_publish('receipt-rule-v47', again => true);

\echo '== 10. All of it is on record.'
\echo
SELECT to_char(at, 'HH24:MI:SS.MS') AS at, action, version, replaces, swapped, attempts, waited FROM backfill.history ORDER BY at;
