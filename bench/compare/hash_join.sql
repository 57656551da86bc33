SET enable_mergejoin = off;
\ir join.sql
