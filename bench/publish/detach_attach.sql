-- All DETACHes, then all ATTACHes: the shortest script.  The new partitions keep the names and the schema they had.
\set there '{detach,attach}'
\set back '{detach new,attach old}'
\set pairwise false
\ir swap.sql
