-- DETACH and ATTACH, partition by partition.
\set there '{detach,attach}'
\set back '{detach new,attach old}'
\set pairwise true
\ir swap.sql
