-- One transaction, whose locks are held from its first statement to its COMMIT; then (not timed) back to where it was.
\set ON_ERROR_STOP on
SET search_path = :"part", public;
\ir start.sql
BEGIN;
SELECT swap(:'there', :pairwise) \gexec
COMMIT;
SELECT bench.lap('publish');
BEGIN;
SELECT swap(:'back', false) \gexec
COMMIT;
