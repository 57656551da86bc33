-- A staged month beside the live one; every twenty-fifth row or so has changed.
\set ON_ERROR_STOP on
\ir ../build/rows.sql
SELECT backfill_create('bench', target => :'target', rule => :'rule', range_from => '2001-01-01', range_to => '2001-02-01');
SELECT backfill_build('bench');
SELECT format('CREATE VIEW bench.new AS TABLE %s', staged) FROM backfill.partition WHERE version = 'bench' \gexec
CREATE VIEW bench.old AS TABLE mart.flight_2001_01;
