SET enable_hashjoin = off;
SET enable_nestloop = off;
\ir join.sql
